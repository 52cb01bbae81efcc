import type { FastifyReply } from 'fastify'
import type { Socket } from 'node:net'
import { SECURITY_HEADERS } from '../http/answers.js'
import type { OpenStream, OpenStreams } from './open-streams.js'
import type { Reader } from './reader.js'
import { HEARTBEAT, retryAfter } from './sse-encoding.js'

const HEADERS = {
  ...SECURITY_HEADERS,
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  // Proxies that buffer would hold back what is live.
  'x-accel-buffering': 'no',
  connection: 'close',
}

export interface SseOptions {
  key: string
  cursor: number
  streams: OpenStreams
  random: () => number
  closed: (stream: SseStream) => void
}

/** One client that reads events over HTTP. */
export class SseStream implements Reader, OpenStream {
  readonly socket: Socket
  readonly key: string
  cursor: number
  readonly #random: () => number
  #state: 'open' | 'stalled' | 'ending' = 'open'

  constructor(socket: Socket, { key, cursor, streams, random, closed }: SseOptions) {
    this.socket = socket
    this.key = key
    this.cursor = cursor
    this.#random = random
    streams.add(this)
    socket.once('close', () => {
      streams.remove(this)
      closed(this)
    })
  }

  beat(): void {
    if (this.#state === 'ending') return this.cut()
    if (!this.socket.writableNeedDrain) {
      this.#state = 'open'
      this.socket.write(HEARTBEAT)
    } else if (this.#state === 'stalled') this.cut()
    else this.#stall()
  }

  finish(): void {
    this.#end()
  }

  /** Not all at the same moment, and not before the next gateway can be there. */
  drain(): void {
    this.socket.write(retryAfter(500 + Math.floor(this.#random() * 2500)))
    this.#end()
  }

  cut(): void {
    this.socket.destroy()
  }

  /** Cut at the next beat, unless what waits for it has drained by then. */
  #stall(): void {
    this.#state = 'stalled'
    this.socket.once('drain', () => {
      if (this.#state === 'stalled') this.#state = 'open'
    })
  }

  #end(): void {
    this.#state = 'ending'
    this.socket.destroySoon()
  }
}

/**
 * Answers with a stream that lasts until the connection does: so frames go to the socket as they are, without chunks
 * around them, and HTTP/1.0 is served alike. `null` if the client is gone, or waits for the answer to an earlier request
 * on the same connection.
 */
export function openSse(reply: FastifyReply): Socket | null {
  reply.hijack()
  const { raw } = reply
  const { socket } = raw
  if (!socket || socket.destroyed) {
    raw.req.socket.destroy()
    return null
  }
  raw.removeHeader('transfer-encoding')
  raw.writeHead(200, HEADERS)
  raw.flushHeaders()
  return socket
}
