import { createDesk, type Desk } from '@askback/core'
import type { ErrorBody, Interaction, Session } from '@askback/protocol'
import { Writable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  Api,
  approval,
  question,
  startTestGateway,
  type ApiResponse,
  type TestGateway,
} from '../testing/index.js'
import type { AccessRequest, AuthenticatedActor } from './embedder.js'

/*
 * The routes come from the OpenAPI document, so that a new route is tested here without a change, or fails because it needs a body.
 */

interface Member extends AuthenticatedActor {
  tenant: string
  may: readonly AccessRequest['action'][] | 'everything'
}

const member = (id: string, tenant: string, may: Member['may']): Member => ({
  id,
  name: id,
  role: 'person',
  tags: { tenant },
  tenant,
  may,
})
const members: Record<string, Member> = {
  ann: member('ann', 'acme', ['read', 'ask', 'answer', 'message', 'manage', 'delete', 'create']),
  reader: member('reader', 'acme', ['read']),
  writer: member('writer', 'acme', ['read', 'message']),
  answerer: member('answerer', 'acme', ['read', 'answer']),
  eve: member('eve', 'globex', 'everything'),
  admin: member('admin', 'none', ['administer']),
  bot: { ...member('bot', 'globex', 'everything'), role: 'agent' },
}

let decide: (actor: Member, request: AccessRequest) => boolean | Promise<boolean>
const byTenant = ({ tenant, may }: Member, { session, action }: AccessRequest) =>
  session
    ? session.tags.tenant === tenant && (may === 'everything' || may.includes(action))
    : may.includes(action)

let gateway: TestGateway
let logged: string
beforeEach(async () => {
  decide = byTenant
  logged = ''
  gateway = await startTestGateway({
    listen: false,
    authenticate: ({ headers }: { headers: Record<string, string | undefined> }) =>
      members[headers['x-member'] ?? ''] ?? null,
    authorize: (actor: Member, request: AccessRequest) => decide(actor, request),
    decisionMs: 50,
    log: new Writable({
      write(line: Buffer, _encoding, done) {
        logged += line.toString()
        done()
      },
    }),
    connectors: [{ id: 'chat', name: 'Chat', pair: () => ({ code: 'code', expiresAt: 1 }) }],
    mcp: async ({ response, sessionId = 'none', checkSession }) => {
      await checkSession?.(sessionId)
      response.end('{}')
    },
  })
})
afterEach(() => gateway.close())

const as = (name: string) => new Api(gateway, null, { 'x-member': name })

interface Route {
  method: string
  path: string
  name: string
}
/** Served elsewhere, or without a caller. Streams have tests of their own. */
const withoutCaller = [
  'checkHealth',
  'checkReadiness',
  'showLoginPage',
  'login',
  'receiveUpdate',
  'readRenderer',
]
const streams = ['streamAllEvents', 'openWebSocket', 'runAgui']

async function routes(): Promise<Route[]> {
  type Paths = Record<string, Record<string, { operationId: string }>>
  const { body } = await as('ann').get<{ paths: Paths }>('/api/openapi.json')
  return Object.entries(body.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .map(([method, { operationId }]) => ({ method: method.toUpperCase(), path, name: operationId }))
      .filter(({ name }) => !withoutCaller.includes(name) && !streams.includes(name)),
  )
}

/** Bodies with which a member of the tenant gets no error of a schema. */
const bodies: Record<string, object> = {
  createSession: { agent: null },
  adoptSession: { agent: 'demo', agentSessionId: 'a', items: [] },
  sendMessage: { text: 'hello' },
  reportToolCall: { toolName: 'Bash', input: {} },
  reportToolResult: { output: '' },
  openInteraction: { ...question, toolCallId: 'another' },
  respond: { answer: { answers: [{ selected: ['SQLite'] }] } },
  saveProgress: { answers: [] },
  submitAnswers: { toolCallId: 'call', answers: { 0: 'SQLite' } },
  approve: { toolCallId: 'call' },
  deny: { toolCallId: 'call' },
  setPermissionMode: { mode: 'plan' },
  setTags: { tags: { tenant: 'globex' } },
  createToken: { person: 'Zoe' },
  logout: { all: true, person: 'owner' },
  callMcp: {},
}

/** A session of the tenant, with something pending. */
interface Scene {
  session: Session
  item: Interaction
}

async function scene(title = 'SECRET'): Promise<Scene> {
  const ann = as('ann')
  const { body } = await ann.post<{ session: Session }>('/api/sessions', { agent: null, title })
  return { session: body.session, item: await ann.open(body.session.id) }
}

function call(
  api: Api,
  { method, path, name }: Route,
  { session, item }: Scene,
): Promise<ApiResponse<ErrorBody>> {
  const url = path
    .replace('/interactions/{interactionId}', `/interactions/${item.interactionId}`)
    .replace('/sessions/{id}', `/sessions/${session.id}`)
    .replace('{toolCallId}', 'call')
    .replace('{id}', path.includes('connectors') ? 'chat' : 'rule')
    .replace('{name}', 'Zoe')
  const query = name === 'callMcp' ? `?session=${session.id}` : ''
  return api.send(method, url + query, method === 'POST' ? (bodies[name] ?? {}) : undefined, {
    accept: 'application/json',
  })
}

const isOfSession = ({ path, name }: Route) =>
  path.startsWith('/api/sessions/{id}') || name === 'callMcp' || name === 'findInteraction'

describe('a member of another tenant', () => {
  it('finds no trace of a session, on every route, and changes nothing', async () => {
    const { session, item } = await scene()
    const before = await gateway.store.read({ sessionId: session.id, limit: 1000 })
    for (const route of await routes()) {
      for (const stranger of ['eve', 'bot', 'admin']) {
        const { status, body } = await call(as(stranger), route, { session, item })
        const seen = `${route.name} of ${stranger}: ${status} ${JSON.stringify(body)}`
        if (isOfSession(route)) expect([403, 404, 405], `after ${seen}`).toContain(status)
        if (isOfSession(route) && stranger === 'eve') expect(status, `after ${seen}`).toBe(404)
        // Errors repeat the id that the caller sent, and nothing else.
        const text = JSON.stringify(body).replaceAll(`There is no session ${session.id}.`, '')
        const sent = text.replaceAll(`There is no interaction ${item.interactionId}.`, '')
        for (const secret of ['SECRET', session.id, item.interactionId, 'Which database'])
          expect(sent, `after ${seen}`).not.toContain(secret)
      }
    }
    expect(await gateway.store.read({ sessionId: session.id, limit: 1000 })).toEqual(before)
    expect(logged).toBe('')
  })

  it('gets the same response for a session as for one that does not exist', async () => {
    const real = await scene()
    const unreal = {
      session: { ...real.session, id: 'nothing' },
      item: { ...real.item, interactionId: 'nothing' },
    }
    for (const route of (await routes()).filter(isOfSession)) {
      const answers = []
      for (const each of [real, unreal]) {
        const { status, body } = await call(as('eve'), route, each)
        const text = JSON.stringify(body).replaceAll(each.session.id, 'ID')
        answers.push(`${status} ${text.replaceAll(each.item.interactionId, 'ID')}`)
      }
      expect(answers[0], `of ${route.name}`).toBe(answers[1])
    }
  })

  it('cannot take over a session by its tags, nor push one into another tenant', async () => {
    const { session } = await scene()
    const tags = (tenant: string) => ({ tags: { tenant } })
    expect((await as('eve').post(`/api/sessions/${session.id}/tags`, tags('globex'))).status).toBe(404)
    expect((await as('ann').post(`/api/sessions/${session.id}/tags`, tags('globex'))).status).toBe(403)
    expect((await as('ann').post(`/api/sessions/${session.id}/tags`, tags('acme'))).status).toBe(202)
    const made = await as('eve').post<{ session: Session }>('/api/sessions', { agent: null, ...tags('acme') })
    expect(made.body.session.tags).toEqual({ tenant: 'globex' })
  })
})

describe('a member of the same tenant', () => {
  it('may use every route of a session', async () => {
    for (const route of (await routes()).filter(isOfSession)) {
      const { status, body } = await call(as('ann'), route, await scene())
      const seen = `${route.name}: ${status} ${JSON.stringify(body)}`
      // It would give the session away.
      if (route.name === 'setTags') expect(status, `after ${seen}`).toBe(403)
      else {
        expect([401, 403, 500], `after ${seen}`).not.toContain(status)
        expect(seen).not.toContain('There is no session')
      }
    }
  })

  it('who may only read gets a reason on every route that changes something', async () => {
    const at = await scene()
    for (const route of (await routes()).filter(isOfSession)) {
      const { status, body } = await call(as('reader'), route, at)
      const seen = `${route.name}: ${status} ${JSON.stringify(body)}`
      // A question has no prompt.
      const readable = route.name === 'readPrompt' ? 400 : 200
      if (route.method === 'GET') expect(status, `after ${seen}`).toBe(readable)
      else {
        expect(status, `after ${seen}`).toBe(403)
        expect(body.error.message, `after ${seen}`).toMatch(/^You may not /)
      }
    }
  })

  it('may send a text only where everything is allowed that the text may do', async () => {
    const { session, item } = await scene()
    const send = async (name: string, more: object) =>
      (await as(name).post(`/api/sessions/${session.id}/messages`, { text: 'hello', ...more })).status
    const { interactionId } = item
    for (const [more, writer, answerer] of [
      [{}, 403, 403],
      [{ route: 'auto' }, 403, 403],
      [{ route: 'agent' }, 202, 403],
      [{ route: 'auto', interactionId }, 403, 202],
    ] as const) {
      expect(await send('writer', more)).toBe(writer)
      expect(await send('answerer', more)).toBe(answerer)
    }
  })

  it('may approve for this session, but not for always, which applies to other tenants, too', async () => {
    const ann = as('ann')
    const { body } = await ann.post<{ session: Session }>('/api/sessions', { agent: null, cwd: '/c' })
    const { id } = body.session
    const approve = async (scope: string) => {
      const { interactionId } = await ann.open(id, { ...approval, toolCallId: scope })
      const answer = { decision: 'approve', scope }
      return ann.post(`/api/sessions/${id}/interactions/${interactionId}/response`, { answer })
    }
    expect(await approve('always')).toMatchObject({
      status: 403,
      body: { error: { message: 'You may approve this once or for this session, but not for always.' } },
    })
    const byCall = { toolCallId: 'always', scope: 'always' }
    expect((await ann.post(`/api/sessions/${id}/approve`, byCall)).status).toBe(403)
    expect((await approve('session')).status).toBe(200)
    type Rules = { rules: { id: string }[] }
    expect((await as('eve').get<Rules>('/api/rules')).body.rules).toEqual([])
    const [rule] = (await as('reader').get<Rules>('/api/rules')).body.rules
    expect((await as('eve').delete(`/api/rules/${rule!.id}`)).status).toBe(404)
    expect((await as('reader').delete(`/api/rules/${rule!.id}`)).status).toBe(403)
    expect((await ann.delete(`/api/rules/${rule!.id}`)).status).toBe(200)
  })
})

describe('lists and counts', () => {
  it('have what the caller may read, in pages without gaps', async () => {
    for (let index = 0; index < 7; index++) {
      await scene(`acme ${index}`)
      const made = await as('eve').post<{ session: Session }>('/api/sessions', {
        agent: null,
        title: 'globex',
      })
      for (let each = 0; each <= index; each++)
        await as('eve').open(made.body.session.id, { ...question, toolCallId: `call ${each}` })
    }
    type Sessions = { sessions: Session[]; next: string | null }
    type Inbox = { interactions: Interaction[]; next: string | null; total: number; perSession: object }
    for (const limit of [1, 2, 3, 100]) {
      const titles: (string | null)[] = []
      const sessionsOf: string[] = []
      for (let after = ''; ;) {
        const { body } = await as('ann').get<Sessions>(`/api/sessions?limit=${limit}${after}`)
        expect(body.sessions.length).toBeLessThanOrEqual(limit)
        titles.push(...body.sessions.map(({ title }) => title))
        if (body.next === null) break
        after = `&after=${body.next}`
      }
      for (let after = ''; ;) {
        const { body } = await as('ann').get<Inbox>(`/api/interactions?limit=${limit}${after}`)
        expect(body.total).toBe(7)
        expect(Object.values(body.perSession)).toEqual([1, 1, 1, 1, 1, 1, 1])
        sessionsOf.push(...body.interactions.map(({ sessionId }) => sessionId))
        if (body.next === null) break
        after = `&after=${body.next}`
      }
      expect(titles).toEqual([6, 5, 4, 3, 2, 1, 0].map((index) => `acme ${index}`))
      expect(new Set(sessionsOf).size).toBe(7)
    }
    expect((await as('eve').get<Inbox>('/api/interactions')).body.total).toBe(28)
    expect((await as('admin').get<Inbox>('/api/interactions')).body).toMatchObject({
      total: 0,
      perSession: {},
    })
  })

  it('of the audit have rows of readable sessions; all others are for who administers', async () => {
    const { session, item } = await scene()
    await as('ann').post(
      `/api/sessions/${session.id}/interactions/${item.interactionId}/response`,
      bodies['respond'],
    )
    const rows = async (name: string, format = 'jsonl') =>
      (await as(name).get<string>(`/api/audit?format=${format}`)).body
    expect(await rows('ann')).toContain(item.interactionId)
    expect(await rows('eve')).toBe('')
    expect(await rows('eve', 'csv')).not.toContain(item.interactionId)
    await as('ann').delete(`/api/sessions/${session.id}`)
    await expect.poll(() => gateway.store.session(session.id)).toBeNull()
    expect(await rows('ann')).toBe('')
    expect(await rows('admin')).toContain('session_deleted')
  })
})

describe('a repeated request', () => {
  it('does not return a session that has come to another tenant', async () => {
    const key = { 'idempotency-key': 'k' }
    const made = await as('ann').post<{ session: Session }>(
      '/api/sessions',
      { agent: null, title: 'SECRET' },
      key,
    )
    await gateway.host.desk.setTags(made.body.session.id, { tenant: 'globex' })
    const again = await as('ann').post('/api/sessions', { agent: null, title: 'SECRET' }, key)
    expect(again.status).toBe(404)
    expect(JSON.stringify(again.body)).not.toContain('SECRET')
  })
})

describe('a long poll', () => {
  it('ends without the answer if the session has come to another tenant meanwhile', async () => {
    const { session, item } = await scene()
    const path = `/api/sessions/${session.id}/interactions/${item.interactionId}`
    const poll = as('reader').get(`${path}?wait=30`)
    await expect.poll(() => gateway.host.desk.interaction(session.id, item.interactionId)).toBeDefined()
    await gateway.host.desk.setTags(session.id, { tenant: 'globex' })
    await respond(gateway.host.desk, item)
    const { status, body } = await poll
    expect(status).toBe(404)
    expect(JSON.stringify(body)).not.toContain('SQLite')
  })
})

async function respond(desk: Desk, { sessionId, interactionId }: Interaction): Promise<void> {
  await desk.respond({ sessionId, interactionId, answer: { answers: [{ selected: ['SQLite'] }] } })
}

describe('an authorize that fails', () => {
  it.each([
    [
      'throws',
      () => {
        throw new Error('broken')
      },
      'broken',
    ],
    ['rejects', () => Promise.reject(new Error('broken')), 'broken'],
    ['hangs', () => new Promise<boolean>(() => {}), 'authorize did not answer within 50 ms'],
  ])(
    'because it %s denies everything with one sentence, and the log says why',
    async (_how, failing, why) => {
      const at = await scene()
      const all = (await routes()).filter((route) => isOfSession(route) || route.name === 'listSessions')
      decide = failing
      await Promise.all(
        all.map(async (route) => {
          const { status, body } = await call(as('ann'), route, at)
          expect({ route: route.name, status, message: body.error.message }).toEqual({
            route: route.name,
            status: 403,
            message: 'It could not be checked whether you may do this. Try again later.',
          })
        }),
      )
      expect(logged).toContain(why)
    },
  )

  it.each([undefined, null, 1, 'yes', {}])('because it returns %j denies, too', async (answer) => {
    const { session } = await scene()
    decide = () => answer as boolean
    expect((await as('ann').get(`/api/sessions/${session.id}`)).status).toBe(404)
  })

  it('cannot change what is stored', async () => {
    const { session } = await scene()
    decide = (_actor, { session: seen }) => {
      if (seen) seen.tags.tenant = 'globex'
      return true
    }
    await as('ann').get(`/api/sessions/${session.id}`)
    expect((await gateway.store.session(session.id))?.tags).toEqual({ tenant: 'acme' })
  })
})

describe('tokens of Askback itself', () => {
  it('are subject to authorize, except the token of a session in that session', async () => {
    const { session } = await scene()
    const seen: unknown[] = []
    decide = (actor) => {
      seen.push({ ...actor })
      return false
    }
    const path = `/api/sessions/${session.id}`
    expect((await new Api(gateway).get(path)).status).toBe(404)
    expect((await new Api(gateway, gateway.agentToken).get(path)).status).toBe(404)
    expect(seen).toEqual([
      { id: 'owner', name: 'Ada', role: 'person' },
      { id: 'agents', role: 'agent' },
    ])
    const own = new Api(gateway, gateway.credentials.sessionToken(session.id))
    expect((await own.get(path)).status).toBe(200)
  })
})

it('a desk in the same process is not restricted', async () => {
  const { session } = await scene()
  decide = () => false
  const desk = createDesk({ store: gateway.store })
  expect((await desk.snapshot(session.id)).session.title).toBe('SECRET')
  desk.close()
})
