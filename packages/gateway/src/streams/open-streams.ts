import type { Clock } from '@askback/core'
import type { Socket } from 'node:net'
import { batchWrite } from '../http/responses.js'
import type { StreamGuard } from './register.js'

/** A connection that stays open: an SSE stream or a WebSocket. */
export interface OpenStream {
  /** The key of the credential that opened it. */
  readonly key: string
  /** Called periodically: shows the peer that the gateway is alive, and disconnects a peer that is not. */
  heartbeat(): void
  /** The gateway stops: finishes the operations of the peer, then closes with the request to reconnect. */
  drain(): void
  /** Closes the connection at once. */
  disconnect(): void
}

/** All open streams, with one heartbeat timer for all of them. */
export class OpenStreams {
  readonly #streams = new Set<OpenStream>()
  readonly #clock: Clock
  readonly #heartbeatMs: number
  #cancelHeartbeat: (() => void) | null = null
  #onDrained: (() => void) | null = null

  constructor(clock: Clock, heartbeatMs: number) {
    this.#clock = clock
    this.#heartbeatMs = heartbeatMs
  }

  get draining(): boolean {
    return this.#onDrained !== null
  }

  get size(): number {
    return this.#streams.size
  }

  add(stream: OpenStream): void {
    this.#streams.add(stream)
    if (this.#cancelHeartbeat === null) this.#scheduleHeartbeat()
  }

  remove(stream: OpenStream): void {
    if (!this.#streams.delete(stream) || this.#streams.size > 0) return
    this.#cancelHeartbeat?.()
    this.#cancelHeartbeat = null
    this.#onDrained?.()
  }

  /** Disconnects the streams of a revoked credential. */
  revoke(key: string): void {
    for (const stream of this.#streams) if (stream.key === key) stream.disconnect()
  }

  /** Resolves when all are closed. Those that are still open after `graceMs` are disconnected. */
  async drain(graceMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.alarm(this.#clock.now() + graceMs, () => {
        for (const stream of this.#streams) stream.disconnect()
      })
      this.#onDrained = () => {
        cancel()
        resolve()
      }
      for (const stream of this.#streams) stream.drain()
      if (this.#streams.size === 0) this.#onDrained()
    })
  }

  #scheduleHeartbeat(): void {
    this.#cancelHeartbeat = this.#clock.alarm(this.#clock.now() + this.#heartbeatMs, () => {
      for (const stream of this.#streams) stream.heartbeat()
      if (this.#streams.size > 0) this.#scheduleHeartbeat()
    })
  }
}

/** A reader of a feed. It is small, because there can be thousands. */
export interface EventReader {
  readonly socket: Socket
  /** The last event that was sent to it. It is not updated while the reader is live: then it is the feed's head. */
  cursor: number
  /** Called when the session is gone, or the reader may no longer read it. */
  finish(): void
  /** Which sessions this reader may read; without it that is not restricted. */
  readonly guard?: StreamGuard | null
}

/**
 * Writes, or disconnects a slow peer with more than `bufferBytes` waiting. A disconnected client reconnects with its cursor, so it
 * misses nothing. `data` is shared by all readers.
 */
export function writeOrDisconnect(socket: Socket, data: Buffer, bufferBytes: number): void {
  if (socket.writableLength > bufferBytes) {
    socket.destroy()
    return
  }
  // Corking instead of deferring the write keeps the order with all other writes to this socket.
  if (socket.writableCorked === 0) {
    socket.cork()
    batchWrite(() => socket.uncork())
  }
  socket.write(data)
}
