import { defineInteraction, memoryStore, type Store } from '@askback/core'
import type { Interaction, Session } from '@askback/protocol'
import express from 'express'
import { fastify } from 'fastify'
import { Hono } from 'hono'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { z } from 'zod'
import type { AuthenticatedActor } from '../access/embedder.js'
import { createAskback, type EmbeddedAskback } from '../askback.js'
import { openSse } from '../streams/sse-client.test.helper.js'
import { question, sqlite } from '../testing/index.js'

/*
 * The same tests for each kind of server that the gateway is mounted in, with middleware of that server that signs people in: it puts
 * the person on the request, where `authenticate` finds them.
 */

interface Member extends AuthenticatedActor {
  tenant: string
}
const members: Record<string, Member> = {
  ann: { id: 'u1', name: 'Ann', role: 'person', tenant: 'acme', tags: { tenant: 'acme' } },
  eve: { id: 'u2', name: 'Eve', role: 'person', tenant: 'globex', tags: { tenant: 'globex' } },
}
const memberIn = (cookie: string | undefined): Member | null =>
  members[/member=(\w+)/.exec(cookie ?? '')?.[1] ?? ''] ?? null
const authorize = (actor: Member, { session }: { session: { tags: Record<string, string> } | null }) =>
  session?.tags.tenant === actor.tenant

const PREFIX = '/askback'
const TOKEN = 'token-of-the-first-person'
let askback: EmbeddedAskback
let webApp: string
let store: Store
const errors: unknown[] = []

interface RunningHost {
  port: number
  close(): Promise<void>
}

const listen = async (server: Server, port = 0): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

const closed = (server: Server) =>
  new Promise<void>((resolve) => {
    server.closeAllConnections()
    server.close(() => resolve())
  })

/** Under Express, `authenticate` finds what earlier middleware has put on the request. */
interface SignedIn extends express.Request {
  member?: Member | null
}

async function onExpress({ parsesBodies }: { parsesBodies: boolean }): Promise<RunningHost> {
  const app = express()
  if (parsesBodies) app.use(express.json())
  app.use((request: SignedIn, _response, next) => {
    request.member = memberIn(request.headers.cookie)
    next()
  })
  const handler = askback.express({ authenticate: ({ member }: SignedIn) => member, authorize })
  app.use(PREFIX, handler)
  app.get('/own', (_request, response) => void response.send('the host'))
  const server = createServer(app)
  handler.attach(server)
  return { port: await listen(server), close: () => closed(server) }
}

async function onFastify(): Promise<RunningHost> {
  const app = fastify()
  app.decorateRequest('member', null)
  app.addHook('onRequest', async (request) => {
    Object.assign(request, { member: memberIn(request.headers.cookie) })
  })
  const authenticate = (request: object) => ('member' in request ? (request.member as Member | null) : null)
  await app.register(askback.fastify({ authenticate, authorize }), { prefix: PREFIX })
  app.get('/own', async () => 'the host')
  app.post('/own', async ({ body }) => body)
  await app.listen({ port: 0, host: '127.0.0.1' })
  return { port: (app.server.address() as AddressInfo).port, close: () => app.close() }
}

async function onHono(): Promise<RunningHost> {
  const app = new Hono()
  const { GET, POST, DELETE } = askback.fetchHandlers({
    prefix: PREFIX,
    authenticate: ({ headers }) => memberIn(headers.get('cookie') ?? undefined),
    authorize,
  })
  for (const path of [PREFIX, `${PREFIX}/*`]) {
    app.get(path, ({ req }) => GET(req.raw))
    app.post(path, ({ req }) => POST(req.raw))
    app.delete(path, ({ req }) => DELETE(req.raw))
  }
  app.get('/own', (context) => context.text('the host'))
  const server = createServer((request, response) => void answerWithFetch(request, response, app.fetch))
  return { port: await listen(server), close: () => closed(server) }
}

/** What adapters of fetch-style frameworks to Node.js do. */
async function answerWithFetch(
  request: IncomingMessage,
  response: ServerResponse,
  handle: (request: Request) => Response | Promise<Response>,
): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const { method = 'GET', url = '', headers } = request
  const hasBody = method === 'POST'
  const answered = await handle(
    new Request(new URL(url, `http://${headers.host}`), {
      method,
      headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
      signal: gone.signal,
      ...(hasBody && { body: Readable.toWeb(request) as unknown as ReadableStream, duplex: 'half' }),
    }),
  )
  response.writeHead(answered.status, [...answered.headers].flat())
  response.flushHeaders()
  const { body } = answered
  if (body)
    Readable.fromWeb(body as never)
      .on('error', () => response.destroy())
      .pipe(response)
  else response.end()
}

const hosts = {
  Express: () => onExpress({ parsesBodies: false }),
  'Express with a parser of bodies before it': () => onExpress({ parsesBodies: true }),
  Fastify: onFastify,
  'a server with fetch handlers': onHono,
}

let host: RunningHost
let url: string
beforeEach(() => {
  webApp = mkdtempSync(join(tmpdir(), 'askback-hosts-'))
  writeFileSync(join(webApp, 'index.html'), '<html lang="en"><link href="./icon.svg" /></html>')
  errors.length = 0
  store = memoryStore()
  askback = createAskback({
    store: () => store,
    token: TOKEN,
    webApp,
    kinds: [
      defineInteraction({
        kind: 'time_slot',
        request: z.object({ slots: z.array(z.string()) }),
        answer: z.object({ slot: z.string() }),
        presentation: 'questionnaire',
      }),
    ],
    onError: (error) => errors.push(error),
  })
})
afterEach(async () => {
  await askback.close()
  await host.close()
  rmSync(webApp, { recursive: true })
  expect(errors).toEqual([])
})

const headersOf = (member: string) => ({ cookie: `member=${member}`, 'content-type': 'application/json' })

async function call<Body = unknown>(
  member: string,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: Body }> {
  const response = await fetch(`${url}/api${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { ...headersOf(member), ...headers },
    ...(body && { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as Body }
}

async function ask(member: string, body: object = question): Promise<Interaction> {
  const { session } = (await call<{ session: Session }>(member, '/sessions', { agent: null })).body
  const path = `/sessions/${session.id}/interactions`
  return (await call<{ interaction: Interaction }>(member, path, { toolCallId: 'call', ...body })).body
    .interaction
}

describe.each(Object.entries(hosts))('in %s', (name, start) => {
  beforeEach(async () => {
    host = await start()
    url = `http://127.0.0.1:${host.port}${PREFIX}`
  })

  it('a person of the product asks, answers and is named in the log; the host keeps its own routes', async () => {
    const { sessionId, interactionId } = await ask('ann')
    const { status, body } = await call(
      'ann',
      `/sessions/${sessionId}/interactions/${interactionId}/response`,
      sqlite,
    )
    expect(status).toBe(200)
    expect(body).toMatchObject({ interaction: { by: { id: 'u1', name: 'Ann' } } })
    expect(await (await fetch(new URL('/own', url))).text()).toBe('the host')
  })

  it('tenants do not see each other', async () => {
    const { sessionId } = await ask('ann')
    await ask('eve')
    expect((await call('eve', `/sessions/${sessionId}`)).status).toBe(404)
    expect((await call<{ total: number }>('eve', '/interactions')).body.total).toBe(1)
    expect((await call('nobody', '/sessions')).status).toBe(401)
  })

  it('a page of another site is refused, whatever the cookies', async () => {
    for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }] as Record<
      string,
      string
    >[]) {
      expect((await call('ann', '/sessions', { agent: null }, headers)).status).toBe(403)
      expect((await call('ann', '/sessions', undefined, headers)).status).toBe(403)
    }
  })

  it('a kind of the embedder is asked in this process and answered over HTTP', async () => {
    const asked = askback.desk.createSession({ id: 'plan', agent: null, tags: { tenant: 'acme' } })
    await asked
    const opened = await askback.desk.open({
      sessionId: 'plan',
      kind: 'time_slot',
      request: { slots: ['9:00'] },
    })
    const { interactionId } = opened.interaction
    const settled = askback.session('plan').wait(interactionId)
    await call('ann', `/sessions/plan/interactions/${interactionId}/response`, { answer: { slot: '9:00' } })
    expect(await settled).toMatchObject({ settlement: 'answered', answer: { slot: '9:00' } })
  })

  it('serves the page of the web app under its path', async () => {
    const page = await (await fetch(url)).text()
    expect(page).toContain(`href="${PREFIX}/icon.svg"`)
    expect(page.includes('data-sse')).toBe(name === 'a server with fetch handlers')
  })

  it('streams events as they happen, and forgets the stream when the client is gone', async () => {
    const { sessionId } = await ask('ann')
    const stream = await openSse(host.port, `${PREFIX}/api/sessions/${sessionId}/events`, headersOf('ann'))
    const before = await stream.take(1)
    expect(before[0]).toMatchObject({ id: '1', event: 'session_started' })
    await askback.desk.report({ sessionId, events: [{ type: 'text', blockId: 'b', text: 'now' }] })
    await expect.poll(() => stream.messages.at(-1)).toMatchObject({ event: 'text', data: { text: 'now' } })
    stream.close()
    const other = await openSse(host.port, `${PREFIX}/api/sessions/${sessionId}/events`, headersOf('ann'))
    await other.take(2)
    other.close()
    // A drain waits for open streams, so it would take its whole two seconds.
    const at = Date.now()
    await askback.close()
    expect(Date.now() - at).toBeLessThan(1500)
  })

  it('ends streams when it is closed, and is unavailable from then on', async () => {
    const stream = await openSse(host.port, `${PREFIX}/api/events`, headersOf('ann'))
    await askback.close()
    await stream.ended
    expect(stream.messages.at(-1)).toHaveProperty('retry')
    expect((await call('ann', '/sessions').catch(() => ({ status: 0 }))).status).toBe(503)
  })

  it('refuses a body that is too large or no JSON like a gateway of its own', async () => {
    const send = (body: string) =>
      fetch(`${url}/api/sessions`, { method: 'POST', headers: headersOf('ann'), body }).then(
        ({ status }) => status,
      )
    expect(await send('{')).toBe(400)
    // The parser of Express has a limit of its own, which is smaller.
    expect(await send(`{"title":"${'x'.repeat(5_000_000)}"}`)).toBe(413)
  })
})

describe.each([
  ['Express', hosts.Express],
  ['Fastify', hosts.Fastify],
])('a WebSocket in %s', (_name, start) => {
  beforeEach(async () => {
    host = await start()
    url = `http://127.0.0.1:${host.port}${PREFIX}`
  })

  const connect = (path: string, headers: Record<string, string>) =>
    new Promise<string>((resolve) => {
      const socket = new WebSocket(`ws://127.0.0.1:${host.port}${path}`, { headers })
      socket.on('open', () => socket.send('{"op":"subscribe","ref":1,"sessionId":"*","after":0}'))
      socket.on('message', (data) => {
        resolve((data as Buffer).toString())
        socket.terminate()
      })
      socket.on('error', ({ message }) => resolve(message))
    })

  it('is opened by a person whom the middleware of the host has signed in', async () => {
    expect(await connect(`${PREFIX}/api/ws`, { cookie: 'member=ann' })).toBe('{"ref":1,"ok":true}')
  })

  it.each([
    [`${PREFIX}/api/ws`, {}, '401'],
    [`${PREFIX}/api/ws`, { cookie: 'member=ann', origin: 'https://evil.example' }, '403'],
    ['/elsewhere/api/ws', { cookie: 'member=ann' }, '404'],
    ['/own', { cookie: 'member=ann' }, '200'],
  ])('at %s with %o is answered with a status: %s', async (path, headers, status) => {
    expect(await connect(path, headers as Record<string, string>)).toContain(status)
  })
})

describe('two mounts on one server', () => {
  it('have logins of their own, also for WebSockets', async () => {
    const app = express()
    const server = createServer(app)
    for (const [path, id] of [
      ['/first', 'u1'],
      ['/second', 'u2'],
    ] as const) {
      const handler = askback.express({
        authenticate: ({ headers }) => (headers.cookie === `person=${id}` ? { id, role: 'person' } : null),
      })
      app.use(path, handler)
      handler.attach(server)
    }
    host = { port: await listen(server), close: () => closed(server) }
    const connect = (path: string, id: string) =>
      new Promise<string>((resolve) => {
        const headers = { cookie: `person=${id}` }
        const socket = new WebSocket(`ws://127.0.0.1:${host.port}${path}/api/ws`, { headers })
        socket.on('open', () => socket.send('{"op":"ping","ref":1}'))
        socket.on('message', () => {
          resolve('open')
          socket.terminate()
        })
        socket.on('error', ({ message }) => resolve(message))
      })
    expect(await connect('/first', 'u1')).toBe('open')
    expect(await connect('/second', 'u2')).toBe('open')
    expect(await connect('/second', 'u1')).toContain('401')
  })
})

describe('without a server of the host', () => {
  beforeEach(() => {
    host = { port: 0, close: async () => undefined }
  })

  it('serves by itself, with a link that logs a browser in', async () => {
    const served = await askback.serve({ port: 0 })
    expect((await fetch(`${served.url}/healthz`)).status).toBe(200)
    expect((await fetch(served.openUrl)).status).toBe(200)
  })

  it('closes a store that it has opened, and leaves one that it was given', async () => {
    await askback.close()
    await expect(askback.desk.sessions()).rejects.toMatchObject({ code: 'unavailable' })
    const given = memoryStore()
    const other = createAskback({ store: given, webApp: null })
    await other.ready
    await other.close()
    await other.close()
    expect(await given.countSessions()).toBe(0)
  })

  it('a fetch handler slows a stream down to the speed of its reader, and ends it on abort', async () => {
    const { GET } = askback.fetchHandlers()
    await askback.desk.createSession({ id: 's', agent: null })
    const text = 'x'.repeat(8 * 1024)
    const PAGES = 12
    for (let page = 0; page < PAGES; page++) {
      const blocks = Array.from({ length: 256 }, (_, index) => `${page} ${index}`)
      await askback.desk.report({
        sessionId: 's',
        events: blocks.map((blockId) => ({ type: 'text', blockId, text })),
      })
    }
    let pagesRead = 0
    const read = store.read.bind(store)
    store.read = (query) => {
      pagesRead++
      return read(query)
    }
    const abort = new AbortController()
    const headers = { authorization: `Bearer ${TOKEN}` }
    const url = 'http://localhost/api/sessions/s/events'
    const response = await GET(new Request(url, { headers, signal: abort.signal }))
    const reader = response.body!.getReader()
    let bytes = 0
    const readOn = async () => {
      const { value } = await reader.read()
      bytes += value?.length ?? 0
    }
    await readOn()
    // Everything that happens without a reader has happened after a few turns of the event loop.
    for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve))
    const unread = pagesRead
    expect(unread).toBeLessThan(PAGES)
    while (bytes < PAGES * 256 * text.length) await readOn()
    expect(pagesRead - unread).toBeGreaterThan(PAGES / 2)
    abort.abort()
    await expect(reader.read()).rejects.toThrow('aborted')
  })
})
