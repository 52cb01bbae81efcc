import type { FastifyReply, FastifyRequest } from 'fastify'
import { parseCursor } from './cursor.js'
import type { Feeds } from './feeds.js'
import { findPlace } from './find-place.js'
import type { OpenStreams } from './open-streams.js'
import type { Caller } from './options.js'
import { sseEncoding } from './sse-encoding.js'
import { openSse, SseStream } from './sse-stream.js'

export interface SessionEventsOptions {
  feeds: Feeds
  streams: OpenStreams
  random: () => number
}

/** Streams one session's log from the client's cursor on, and then what happens. */
export async function streamSession(
  request: FastifyRequest,
  reply: FastifyReply,
  target: { sessionId: string; query: Record<string, unknown>; caller: Caller },
  { feeds, streams, random }: SessionEventsOptions,
): Promise<void> {
  const { sessionId, query, caller } = target
  const cursor = cursorOf(request, query)
  const feed = feeds.lease(sessionId)
  let leased = true
  const release = () => {
    if (leased) feeds.release(feed)
    leased = false
  }
  try {
    const found = await findPlace(feed, cursor, query.log)
    const socket = openSse(reply)
    if (!socket) return release()
    const { key } = caller
    const closed = (stream: SseStream) => {
      feed.remove(stream)
      release()
    }
    const stream = new SseStream(socket, { key, cursor, streams, random, closed })
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
