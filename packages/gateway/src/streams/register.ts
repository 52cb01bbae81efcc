import { jumpAwareClock } from '@askback/core'
import { AskbackError } from '@askback/protocol'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { sendAnswer } from '../http/answers.js'
import { AllEvents } from './all-events.js'
import { eventPage } from './event-page.js'
import { Feeds } from './feeds.js'
import { OpenStreams } from './open-streams.js'
import { STREAM_DEFAULTS, type StreamOptions } from './options.js'
import { PageCache } from './page-cache.js'
import { streamSession } from './session-events.js'
import { goneFrame, sseEncoding, withoutIds } from './sse-encoding.js'
import { openSse, SseStream } from './sse-stream.js'
import { goneOnSocket, ofAllSessions, wsEncoding } from './ws-encoding.js'
import { serveWebSockets, WS_PATH } from './ws-server.js'

export interface Streams {
  /** Sends everyone away, to come back later; resolves when they are gone. */
  drain(graceMs?: number): Promise<void>
  /** Ends the streams of a credential that is no longer good. */
  revoke(key: string): void
  readonly open: { sse: number; ws: number }
}

type Query = Record<string, unknown>

/** Adds the routes that last: a session's events, those of all sessions, and the WebSocket. */
export function registerStreams(app: FastifyInstance, options: StreamOptions): Streams {
  const {
    host,
    store,
    authorize,
    authorizeSocket,
    clock = jumpAwareClock,
    random = Math.random,
    onError,
  } = options
  const config = { ...STREAM_DEFAULTS, ...options.config }
  const cache = new PageCache(config.cacheBytes)
  const streams = new OpenStreams(clock, config.heartbeatMs)
  const ports = { host, store, cache, onError, bufferBytes: config.bufferBytes }
  const sse = new Feeds({ ...ports, encoding: sseEncoding })
  const ws = new Feeds({ ...ports, encoding: wsEncoding })
  const { desk } = host
  const all = new AllEvents({ ...ports, desk, encode: withoutIds, encodeGone: goneFrame })
  const allOnSockets = new AllEvents({ ...ports, desk, encode: ofAllSessions, encodeGone: goneOnSocket })
  const sockets = serveWebSockets(app.server, {
    ...ports,
    ...config,
    feeds: ws,
    all: allOnSockets,
    streams,
    clock,
    authorizeSocket,
  })

  app.get<{ Params: { id: string }; Querystring: Query }>(
    '/api/sessions/:id/events',
    { exposeHeadRoute: false },
    async (request, reply) => {
      const { params, query } = request
      const caller = await authorize(request.raw)
      if (!(await caller.mayRead(params.id)))
        throw new AskbackError('forbidden', 'This credential may not read that session.')
      if (wantsJson(request)) {
        sendAnswer(reply, { status: 200, body: await eventPage(store, params.id, query) })
        return reply
      }
      mayOpen()
      return streamSession(
        request,
        reply,
        { sessionId: params.id, query, caller },
        { feeds: sse, streams, random },
      )
    },
  )

  app.get('/api/events', { exposeHeadRoute: false }, async (request, reply) => {
    const { person, key } = await authorize(request.raw)
    if (!person) throw new AskbackError('forbidden', 'Only people see all sessions.')
    mayOpen()
    const socket = openSse(reply)
    if (!socket) return
    const closed = (stream: SseStream) => all.remove(stream)
    const stream = new SseStream(socket, { key, cursor: 0, streams, random, closed })
    await all.add(stream).catch((error: unknown) => {
      onError(error)
      stream.cut()
    })
  })

  app.get(WS_PATH, { exposeHeadRoute: false }, () => {
    throw new AskbackError('invalid_request', 'This is a WebSocket: ask for an upgrade.')
  })

  app.addHook('onClose', () => {
    sse.close()
    ws.close()
  })

  function mayOpen(): void {
    if (streams.draining) throw new AskbackError('unavailable', 'The gateway is going away.')
    if (streams.size - sockets.open < config.streams) return
    throw new AskbackError('rate_limited', `There are ${config.streams} streams open, which is the limit.`)
  }

  return {
    drain: (graceMs = 2000) => streams.drain(graceMs),
    revoke: (key) => streams.revoke(key),
    get open() {
      return { sse: streams.size - sockets.open, ws: sockets.open }
    },
  }
}

/** A client that takes both gets the stream. */
function wantsJson({ headers: { accept = '' } }: FastifyRequest): boolean {
  const types = accept.toLowerCase()
  return types.includes('application/json') && !types.includes('text/event-stream')
}
