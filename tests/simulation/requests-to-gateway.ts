import type { Desk, PersonCaller } from '@askback/core'
import { AskbackError, errorCodes, type Json } from '@askback/protocol'
import { isInLog } from '../../packages/gateway/src/streams/feed.js'
import { sseEncoding } from '../../packages/gateway/src/streams/sse.js'
import { checkDurable, DeliveryCursor } from './delivery-rules.js'
import { eventsIn, Stream } from './network.js'
import type { Process } from './process.js'
import { holds } from './violation.js'
import type { World } from './world.js'

interface Request {
  path: string[]
  query: URLSearchParams
  headers: Headers
  body: Json
  signal: AbortSignal | undefined
}

/** Finds the person behind an answer that arrives over HTTP. */
export type FindOrigin = (answer: { interactionId: string; key: string }) => {
  caller: PersonCaller
  idempotencyKey: string
}

/** `fetch` for the simulated clients: any running process answers. Only the routes of the client's stores exist. */
export function simulatedFetch(world: World, findOrigin: FindOrigin) {
  return (input: string, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(input)
    const request: Request = {
      path: url.pathname.split('/').slice(2).map(decodeURIComponent),
      query: url.searchParams,
      headers: new Headers(init.headers),
      body: typeof init.body === 'string' ? (JSON.parse(init.body) as Json) : null,
      signal: init.signal ?? undefined,
    }
    return new Promise((resolve, reject) => {
      const fail = () => reject(new TypeError('fetch failed'))
      if (world.live.length === 0) return fail()
      request.signal?.addEventListener('abort', fail)
      const name = `${init.method} ${request.path.join('/')}${url.search}`
      world.call(name, (desk, process) => answer(world, { desk, process, request, findOrigin }), {
        done: resolve,
        refused: ({ code, message, details }) => {
          const error = { code, message, ...(details !== undefined && { details }) }
          resolve(Response.json({ error }, { status: errorCodes[code].status }))
        },
        lost: fail,
      })
    })
  }
}

interface GatewayCall {
  desk: Desk
  process: Process
  request: Request
  findOrigin: FindOrigin
}

async function answer(world: World, call: GatewayCall): Promise<Response> {
  const { desk, request, findOrigin } = call
  const { path, query, headers, body } = request
  const [kind = '', sessionId = '', part, interactionId = ''] = path
  const wantsStream = headers.get('accept') === 'text/event-stream'
  if (kind === 'events') return allEvents(world, call)
  if (kind === 'interactions') return Response.json(await desk.inbox(pageOf(query)))
  if (kind !== 'sessions') throw new AskbackError('not_found', `No route ${path.join('/')}.`)
  if (part === undefined) return Response.json({ ...(await desk.snapshot(sessionId)), live: [] })
  if (part === 'events') {
    if (wantsStream) return sessionEvents(world, call, sessionId)
    const limit = Number(query.get('limit') ?? 1000)
    const [after, before] = [query.get('after'), query.get('before')]
    const range = before === null ? { after: Number(after ?? 0) } : { before: Number(before) }
    return Response.json({ events: await desk.events(sessionId, { ...range, limit }), next: null })
  }
  const { caller, idempotencyKey } = findOrigin({ interactionId, key: headers.get('idempotency-key') ?? '' })
  const given = body as { answer: Json; digest?: string }
  const input = { sessionId, interactionId, ...given, idempotencyKey }
  return Response.json(await desk.as(caller).respond(input))
}

async function sessionEvents(world: World, call: GatewayCall, sessionId: string): Promise<Response> {
  const { model, random, plan } = world
  const { process, request } = call
  const { feeds } = process.gateway
  const cursor = Number(request.headers.get('last-event-id') ?? request.query.get('after') ?? 0)
  const log = request.query.get('log') ?? undefined
  const feed = feeds.acquire(sessionId)
  let isLeased = true
  const release = () => {
    if (isLeased) feeds.release(feed)
    isLeased = false
  }
  try {
    const isFound = await isInLog(feed, cursor, log)
    const { logId } = feed
    const name = world.newId('reader')
    const position = new DeliveryCursor(name, model, { logId, seq: cursor })
    const stream = new Stream(
      {
        process,
        sessionId,
        cursor,
        signal: request.signal,
        closed: () => {
          feed.remove(stream)
          release()
        },
        delivering: (frames) => position.take(eventsIn(frames)),
        finished: () => {
          const isOver = !isFound || feed.users === 0 || model.logs.get(logId)?.ended === true
          if (process.alive)
            world.guard(() => holds(isOver, 'streams', () => `${name} ends before ${sessionId} does`))
        },
      },
      random.chance(0.3) ? plan.socketBytes : Infinity,
    )
    if (isFound) {
      world.network.add(stream, position)
      feed.add(stream)
    } else {
      const known = model.logs.get(logId)
      const isErased = model.sessions.get(sessionId) !== known || known?.ended === true
      const isLost = log !== logId || isErased || cursor > (known?.events.length ?? 0)
      holds(isLost, 'streams', () => `${name} must take a new snapshot of ${sessionId} at ${cursor}`)
      world.network.add(stream)
      stream.fake.write(sseEncoding.resync(sessionId))
      stream.finish()
    }
    if (request.signal?.aborted) stream.cut()
    return new Response(stream.body)
  } catch (error) {
    release()
    throw error
  }
}

async function allEvents(world: World, { process, request }: GatewayCall): Promise<Response> {
  const { model } = world
  const { allEvents: all } = process.gateway
  const stream = new Stream(
    {
      process,
      sessionId: 'all sessions',
      cursor: 0,
      signal: request.signal,
      closed: () => all.remove(stream),
      delivering: (frames) => {
        for (const event of eventsIn(frames)) checkDurable(model, event)
      },
      finished: () => {},
    },
    Infinity,
  )
  await all.add(stream)
  world.network.add(stream)
  if (request.signal?.aborted) stream.cut()
  return new Response(stream.body)
}

function pageOf(query: URLSearchParams): { after?: string; limit?: number } {
  const [after, limit] = [query.get('after'), query.get('limit')]
  return { ...(after !== null && { after }), ...(limit !== null && { limit: Number(limit) }) }
}
