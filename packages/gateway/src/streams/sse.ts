import { AskbackError, type SessionEvent } from '@askback/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Socket } from 'node:net'
import { SECURITY_HEADERS } from '../http/responses.js'
import { parseCursor } from './event-page.js'
import { type Feeds, isInLog } from './feed.js'
import type { OpenStreams, OpenStream, EventReader } from './open-streams.js'
import type { Encoding } from './pages.js'
import type { StreamCaller, StreamGuard } from './register.js'

export interface SessionEventsOptions {
  feeds: Feeds
  streams: OpenStreams
  random: () => number
}

/** Streams the log of a session after the client's cursor, and then new events as they are committed. */
export async function streamSession(
  request: FastifyRequest,
  reply: FastifyReply,
  target: { sessionId: string; query: Record<string, unknown>; caller: StreamCaller },
  { feeds, streams, random }: SessionEventsOptions,
): Promise<void> {
  const { sessionId, query, caller } = target
  const cursor = cursorOf(request, query)
  const feed = feeds.acquire(sessionId)
  let isAcquired = true
  const release = () => {
    if (isAcquired) feeds.release(feed)
    isAcquired = false
  }
  try {
    const found = await isInLog(feed, cursor, query.log)
    const { key, guard } = caller
    await feed.checkReader(guard)
    const socket = openSse(reply)
    if (!socket) return release()
    const closed = (stream: SseStream) => {
      feed.remove(stream)
      release()
    }
    const stream = new SseStream(socket, { key, cursor, guard, streams, random, closed })
    if (found) feed.add(stream)
    else {
      socket.write(sseEncoding.resync(sessionId))
      stream.finish()
    }
  } catch (error) {
    release()
    throw error
  }
}

function cursorOf(request: FastifyRequest, query: Record<string, unknown>): number {
  const lastEventId = request.headers['last-event-id']
  if (lastEventId !== undefined) return parseCursor(lastEventId, 'Last-Event-ID')
  return query.after === undefined ? 0 : parseCursor(query.after, 'after')
}

const HEADERS = {
  ...SECURITY_HEADERS,
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  // nginx would buffer live events otherwise.
  'x-accel-buffering': 'no',
  connection: 'close',
}

export interface SseOptions {
  key: string
  cursor: number
  guard: StreamGuard | null
  streams: OpenStreams
  random: () => number
  closed: (stream: SseStream) => void
}

/**
 * One client that reads events over HTTP.
 *
 *   open --(a heartbeat finds the socket full)--> stalled --(still full at the next)--> disconnected
 *   stalled --(drained)--> open;   open | stalled --(session gone | gateway drains)--> ending
 */
export class SseStream implements EventReader, OpenStream {
  readonly socket: Socket
  readonly key: string
  cursor: number
  readonly guard: StreamGuard | null
  readonly #random: () => number
  #state: 'open' | 'stalled' | 'ending' = 'open'

  constructor(socket: Socket, { key, cursor, guard, streams, random, closed }: SseOptions) {
    this.guard = guard
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

  heartbeat(): void {
    if (this.#state === 'ending') return this.disconnect()
    if (!this.socket.writableNeedDrain) {
      this.#state = 'open'
      this.socket.write(HEARTBEAT)
    } else if (this.#state === 'stalled') this.disconnect()
    else this.#stall()
  }

  finish(): void {
    this.#end()
  }

  /** The random delay spreads reconnects, and gives the next gateway half a second to start. */
  drain(): void {
    this.socket.write(retryAfter(500 + Math.floor(this.#random() * 2500)))
    this.#end()
  }

  disconnect(): void {
    this.socket.destroy()
  }

  /** The next heartbeat disconnects it, unless its socket has drained by then. */
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
 * Starts a response that ends with the connection: frames are written to the socket directly, without chunked encoding, which also works
 * with HTTP/1.0. Returns `null` if the client is gone, or still waits for the response to an earlier request on the same connection.
 */
export function openSse(reply: FastifyReply): Socket | null {
  if (reply.request.raw.httpVersionMajor > 1) {
    throw new AskbackError('invalid_request', 'Streams are served over HTTP/1.1 only: put a proxy in front.')
  }
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

export const sseEncoding: Encoding = {
  events(events, texts) {
    let frames = ''
    for (const [index, { seq, type }] of events.entries())
      frames += `id: ${seq}\n${fields(type, texts[index]!)}`
    return Buffer.from(frames)
  },
  live: (_sessionId, event) => Buffer.from(fields(event.type, JSON.stringify(event))),
  resync: () => Buffer.from('event: resync\ndata: {}\n\n'),
}

/** For the stream of all sessions, which has no cursor. */
export function encodeWithoutIds(events: SessionEvent[], texts: string[]): Buffer {
  return Buffer.from(events.map(({ type }, index) => fields(type, texts[index]!)).join(''))
}

/** Reports a deleted session on the stream of all sessions. */
export function encodeGone(sessionId: string): Buffer {
  return Buffer.from(fields('gone', JSON.stringify({ sessionId })))
}

/** JSON has no line breaks, so it fits in one `data` field. */
function fields(type: string, text: string): string {
  return `event: ${type}\ndata: ${text}\n\n`
}

const HEARTBEAT = Buffer.from(':\n\n')

function retryAfter(ms: number): Buffer {
  return Buffer.from(`retry: ${ms}\n\n`)
}
