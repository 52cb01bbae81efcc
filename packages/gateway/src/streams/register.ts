import {
  jumpAwareClock,
  type BoundDesk,
  type Clock,
  type Host,
  type PersonCaller,
  type Store,
} from '@askback/core'
import { AskbackError, MAX_JSON_DEPTH, type SessionTags } from '@askback/protocol'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { IncomingMessage } from 'node:http'
import * as z from 'zod'
import { sendResponse } from '../http/responses.js'
import { route, type ApiRoute } from '../route.js'
import { eventPageBody, sessionParams } from '../routes/schemas.js'
import { AllEvents } from './all-events.js'
import { eventPage } from './event-page.js'
import { Feeds } from './feed.js'
import { OpenStreams } from './open-streams.js'
import { PageCache } from './pages.js'
import { encodeGone, streamSession, sseEncoding, encodeWithoutIds, openSse, SseStream } from './sse.js'
import { encodeForAll, encodeGoneForAll, wsEncoding } from './ws-messages.js'
import { serveWebSockets, WS_PATH } from './ws-server.js'

export interface GatewayStreams {
  /** Asks all clients to reconnect later. Resolves when they are disconnected. */
  drain(graceMs?: number): Promise<void>
  /** Disconnects the streams of a revoked credential. */
  revoke(key: string): void
  readonly open: { sse: number; ws: number }
}

type Query = Record<string, unknown>

/** Adds the routes that stream: the events of a session, those of all sessions, and the WebSocket. */
export function registerStreams(app: FastifyInstance, options: StreamOptions): GatewayStreams {
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
  const all = new AllEvents({ ...ports, desk, encode: encodeWithoutIds, encodeGone })
  const allOnSockets = new AllEvents({ ...ports, desk, encode: encodeForAll, encodeGone: encodeGoneForAll })
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
      await caller.guard?.check(params.id, 'read')
      if (wantsJson(request)) {
        const body = await eventPage(store, params.id, query)
        await caller.guard?.checkStill(params.id)
        sendResponse(reply, { status: 200, body })
        return reply
      }
      checkMayOpen()
      return streamSession(
        request,
        reply,
        { sessionId: params.id, query, caller },
        { feeds: sse, streams, random },
      )
    },
  )

  app.get('/api/events', { exposeHeadRoute: false }, async (request, reply) => {
    const { person, key, guard } = await authorize(request.raw)
    if (!person) throw new AskbackError('forbidden', 'Only people see all sessions.')
    checkMayOpen()
    const socket = openSse(reply)
    if (!socket) return
    const closed = (stream: SseStream) => all.remove(stream)
    const stream = new SseStream(socket, { key, cursor: 0, guard, streams, random, closed })
    await all.add(stream).catch((error: unknown) => {
      onError(error)
      stream.disconnect()
    })
  })

  app.get(WS_PATH, { exposeHeadRoute: false }, () => {
    throw new AskbackError('invalid_request', 'This is a WebSocket: ask for an upgrade.')
  })

  /** What an embedder decides can change without a change of tags. */
  let cancelCheck = () => {}
  const checkLater = () => {
    cancelCheck = clock.alarm(clock.now() + config.checkMs, () => {
      sse.checkReaders()
      ws.checkReaders()
      checkLater()
    })
  }
  if (options.isGuarded) checkLater()

  app.addHook('onClose', () => {
    cancelCheck()
    sse.close()
    ws.close()
  })

  function checkMayOpen(): void {
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

/** A client that accepts both gets the stream. */
function wantsJson({ headers: { accept = '' } }: FastifyRequest): boolean {
  const types = accept.toLowerCase()
  return types.includes('application/json') && !types.includes('text/event-stream')
}

/** The caller of a stream, after authentication. */
export interface StreamCaller {
  /** The id of the credential, which scopes idempotency keys. */
  readonly credential: string
  /** Identifies the token or login: its streams are disconnected when it is revoked. */
  readonly key: string
  /** The desk of a person; `null` for agents. Only people may settle, and see all sessions at once. */
  readonly person: BoundDesk<PersonCaller> | null
  mayRead(sessionId: string): boolean | Promise<boolean>
  /** What the embedder's `authorize` says of this caller; `null` if there is none. */
  readonly guard: StreamGuard | null
  /** Called before the caller changes anything: rejects with `unauthorized` if the credential was revoked meanwhile. */
  checkNotRevoked(): Promise<void>
}

/** Which sessions a caller may see, and answer in. It can change while a stream is open. */
export interface StreamGuard {
  /** Rejects with `not_found` or `forbidden`. */
  check(sessionId: string, action: 'read' | 'answer'): Promise<void>
  /** The same before something is sent that was read after `check`. */
  checkStill(sessionId: string): Promise<void>
  /** Rejects with `forbidden` if the caller may not answer in this scope. */
  checkScope(answer: unknown): Promise<void>
  /** Also for a session that was just deleted. Never rejects. */
  mayRead(sessionId: string): Promise<boolean>
  /** The same with the tags that the session had before. */
  mightRead(sessionId: string, tags: SessionTags): Promise<boolean>
}

/** A page with a cookie is a caller only after it has sent its proof: `confirm` throws `unauthorized` for a wrong one. */
export type SocketCaller =
  | { readonly caller: StreamCaller }
  | { readonly key: string; readonly confirm: (proof: string) => StreamCaller }

export interface StreamConfig {
  heartbeatMs: number
  /** How often it is checked whether the readers of open streams may still read them, if `isGuarded`. */
  checkMs: number
  /** How long a socket with a cookie may take to send its proof. */
  helloMs: number
  /** The most WebSockets that may be open. */
  sockets: number
  /** The most SSE streams that may be open. */
  streams: number
  /** The largest message of a WebSocket client. */
  frameBytes: number
  /** The deepest JSON in a frame. */
  jsonDepth: number
  /** A reader with more bytes waiting in its socket is disconnected. */
  bufferBytes: number
  /** The size of the page cache of all sessions together. */
  cacheBytes: number
}

const STREAM_DEFAULTS: StreamConfig = {
  heartbeatMs: 15_000,
  checkMs: 15_000,
  helloMs: 10_000,
  sockets: 1000,
  streams: 10_000,
  frameBytes: 4 * 1024 * 1024,
  jsonDepth: MAX_JSON_DEPTH,
  bufferBytes: 1024 * 1024,
  cacheBytes: 32 * 1024 * 1024,
}

export interface StreamOptions {
  host: Host
  store: Store
  /** Checks Host, Origin and credential of a request. Rejects with the error for the response. */
  authorize: (request: IncomingMessage) => Promise<StreamCaller>
  /** The same for a WebSocket, whose proof is in its first message. */
  authorizeSocket: (request: IncomingMessage) => Promise<SocketCaller>
  /** Whether callers have guards. */
  isGuarded?: boolean
  config?: Partial<StreamConfig>
  clock?: Clock
  random?: () => number
  onError: (error: unknown) => void
}

const cursor = (description: string, rules = {}) =>
  z
    .string()
    .meta({ description, sentAs: { type: 'integer', minimum: 0, ...rules } })
    .optional()

/** Describes the routes above for the OpenAPI document. */
export const streamRoutes: ApiRoute[] = [
  route({
    name: 'streamSessionEvents',
    method: 'GET',
    path: '/api/sessions/:id/events',
    allowed: 'agent',
    action: 'read',
    summary: 'Streams the log of a session; with `Accept: application/json` returns one page of it',
    params: sessionParams,
    headers: ['LastEventId'],
    query: z.object({
      after: cursor('Only events after this `seq`.'),
      before: cursor('The page before this `seq`; for JSON only.'),
      limit: cursor('The most events of a page; for JSON only.', { minimum: 1, maximum: 1000 }),
      log: z
        .string()
        .meta({ description: 'The `logId` of the snapshot that the cursor belongs to.' })
        .optional(),
    }),
    responses: {
      200: {
        description: 'Events, and deltas of unfinished blocks',
        types: ['text/event-stream'],
        json: eventPageBody,
      },
    },
    errors: [404],
  }),
  route({
    name: 'streamAllEvents',
    method: 'GET',
    path: '/api/events',
    allowed: 'person',
    action: 'filtered',
    summary: 'Streams new interaction and status events of all sessions',
    responses: { 200: { description: 'Events, without ids', types: ['text/event-stream'] } },
  }),
  route({
    name: 'openWebSocket',
    method: 'GET',
    path: '/api/ws',
    allowed: 'agent',
    action: 'checked',
    summary: 'Opens a WebSocket for the events of many sessions',
    responses: { 101: { description: 'A WebSocket', types: ['text/plain'] } },
  }),
]
