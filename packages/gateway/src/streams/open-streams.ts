import type { Clock } from '@askback/core'
import type { Socket } from 'node:net'
import { writeInTurn } from '../http/responses.js'

/** A connection that stays open. */
export interface OpenStream {
  /** Of the credential that opened it. */
  readonly key: string
  /** From time to time: shows the peer that the gateway lives, and looks whether the peer does. */
  beat(): void
  /** The gateway goes away; the peer is told to come back, after what it has asked for is answered. */
  drain(): void
  /** At once. */
  cut(): void
}

/** All that are open, with one timer for all of them. */
export class OpenStreams {
  readonly #streams = new Set<OpenStream>()
  readonly #clock: Clock
  readonly #beatMs: number
  #disarm: (() => void) | null = null
  #draining: (() => void) | null = null

  constructor(clock: Clock, beatMs: number) {
    this.#clock = clock
    this.#beatMs = beatMs
  }

  get draining(): boolean {
    return this.#draining !== null
  }

  get size(): number {
    return this.#streams.size
  }

  add(stream: OpenStream): void {
    this.#streams.add(stream)
    if (this.#disarm === null) this.#arm()
  }

  remove(stream: OpenStream): void {
    if (!this.#streams.delete(stream) || this.#streams.size > 0) return
    this.#disarm?.()
    this.#disarm = null
    this.#draining?.()
  }

  /** Ends those of a credential that was revoked. */
  revoke(key: string): void {
    for (const stream of this.#streams) if (stream.key === key) stream.cut()
  }

  /** Resolves when all are closed; those that are still open after `graceMs` are cut. */
  async drain(graceMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const disarm = this.#clock.alarm(this.#clock.now() + graceMs, () => {
        for (const stream of this.#streams) stream.cut()
      })
      this.#draining = () => {
        disarm()
        resolve()
      }
      for (const stream of this.#streams) stream.drain()
      if (this.#streams.size === 0) this.#draining()
    })
  }

  #arm(): void {
    this.#disarm = this.#clock.alarm(this.#clock.now() + this.#beatMs, () => {
      for (const stream of this.#streams) stream.beat()
      if (this.#streams.size > 0) this.#arm()
    })
  }
}

/** Whoever reads a feed: kept small, since there can be thousands. */
export interface Reader {
  readonly socket: Socket
  /** The last event that it was sent. Once it is live, that is the feed's own. */
  cursor: number
  /** There is nothing more to read: the session is gone. */
  finish(): void
}

/**
 * Writes, unless too much waits for the peer already: then it is cut, and what waits is given up with it. It comes back
 * with its cursor. What is written is shared by all who get it.
 */
export function writeOrCut(socket: Socket, data: Buffer, bufferBytes: number): void {
  if (socket.writableLength > bufferBytes) {
    socket.destroy()
    return
  }
  // Corked and not put off: whatever else is written to it keeps its place.
  if (socket.writableCorked === 0) {
    socket.cork()
    writeInTurn(() => socket.uncork())
  }
  socket.write(data)
}
