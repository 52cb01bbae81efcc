import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Api, approval, question, startTestGateway, type TestGateway } from './testing/index.js'

type Kind = 'person' | 'outside' | 'own' | 'foreign' | 'none'
type Seen = 'ok' | 401 | 403

/** All requests are to a session of outside agents. `own` is the token of that session, `foreign` that of another. */
const EVERYONE: Record<Kind, Seen> = { person: 'ok', outside: 'ok', own: 'ok', foreign: 'ok', none: 'ok' }
const PEOPLE: Record<Kind, Seen> = { person: 'ok', outside: 403, own: 403, foreign: 403, none: 401 }
const AGENTS: Record<Kind, Seen> = { person: 'ok', outside: 'ok', own: 'ok', foreign: 403, none: 401 }
const MAKERS: Record<Kind, Seen> = { person: 'ok', outside: 'ok', own: 403, foreign: 403, none: 401 }

const table: Record<string, { may: Record<Kind, Seen>; body?: object }> = {
  'GET /healthz': { may: EVERYONE },
  'GET /readyz': { may: EVERYONE },
  'GET /renderers/{file}': { may: EVERYONE },
  'GET /api/agents': { may: PEOPLE },
  'GET /api/kinds': { may: { ...EVERYONE, none: 401 } },
  'POST /api/sessions': { may: MAKERS, body: { agent: null } },
  'GET /api/sessions': { may: PEOPLE },
  'POST /api/sessions/adopt': { may: PEOPLE, body: {} },
  'POST /api/agui': { may: PEOPLE, body: {} },
  'GET /api/sessions/{id}': { may: AGENTS },
  'DELETE /api/sessions/{id}': { may: PEOPLE },
  'GET /api/sessions/{id}/events': { may: AGENTS },
  'POST /api/sessions/{id}/messages': { may: PEOPLE, body: { text: 'hello' } },
  'POST /api/sessions/{id}/tool-calls': { may: AGENTS, body: { toolName: 'Bash', input: {} } },
  'POST /api/sessions/{id}/tool-calls/{toolCallId}/result': { may: AGENTS, body: { output: '' } },
  'POST /api/sessions/{id}/interactions': { may: AGENTS, body: { ...question, toolCallId: 't' } },
  'GET /api/sessions/{id}/interactions/{interactionId}': { may: AGENTS },
  'GET /api/sessions/{id}/interactions/{interactionId}/prompt': { may: AGENTS },
  'POST /api/sessions/{id}/interactions/{interactionId}/response': { may: PEOPLE, body: { answer: 1 } },
  'POST /api/sessions/{id}/interactions/{interactionId}/progress': { may: PEOPLE, body: { answers: [] } },
  'DELETE /api/sessions/{id}/interactions/{interactionId}': { may: { ...AGENTS, outside: 403 } },
  'POST /api/sessions/{id}/submit-answers': { may: PEOPLE, body: { toolCallId: 't', answers: {} } },
  'POST /api/sessions/{id}/approve': { may: PEOPLE, body: { toolCallId: 't' } },
  'POST /api/sessions/{id}/deny': { may: PEOPLE, body: { toolCallId: 't' } },
  'POST /api/sessions/{id}/interrupt': { may: PEOPLE },
  'POST /api/sessions/{id}/clear': { may: PEOPLE },
  'POST /api/sessions/{id}/permission-mode': { may: PEOPLE, body: { mode: 'plan' } },
  'POST /api/sessions/{id}/tags': { may: PEOPLE, body: { tags: { team: 'ops' } } },
  'GET /api/interactions': { may: PEOPLE },
  'GET /api/interactions/{interactionId}': { may: AGENTS },
  'GET /api/rules': { may: PEOPLE },
  'DELETE /api/rules/{id}': { may: PEOPLE },
  'GET /api/audit': { may: PEOPLE },
  'GET /api/backup': { may: PEOPLE },
  'GET /api/tokens': { may: PEOPLE },
  'POST /api/tokens': { may: PEOPLE, body: { person: 'bob' } },
  'DELETE /api/tokens/{name}': { may: PEOPLE },
  'GET /api/connectors': { may: PEOPLE },
  'POST /api/connectors/{id}/pairings': { may: PEOPLE },
  'POST /api/connectors/{id}/updates': { may: EVERYONE, body: {} },
  'POST /api/logins': { may: PEOPLE },
  'POST /api/logout': { may: PEOPLE, body: { all: true } },
  'GET /api/metrics': { may: PEOPLE },
  'GET /api/openapi.json': { may: PEOPLE },
}

/** Streams do not end where they are allowed, and a login has no credential: both have their own tests. */
const elsewhere = ['GET /api/events', 'GET /api/ws', 'GET /login', 'POST /api/login']

let gateway: TestGateway
let tokens: Record<Kind, string | null>
beforeAll(async () => {
  gateway = await startTestGateway({ listen: false })
  tokens = {
    person: gateway.token,
    outside: gateway.agentToken,
    own: '',
    foreign: gateway.credentials.sessionToken('another'),
    none: null,
  }
})
afterAll(() => gateway.close())

it('the table has every route', async () => {
  const { body } = await new Api(gateway).get<{ paths: Record<string, object> }>('/api/openapi.json')
  const routes = Object.entries(body.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  expect(routes.sort()).toEqual([...Object.keys(table), ...elsewhere].sort())
})

const cases = Object.entries(table).flatMap(([route, { may, body }]) =>
  Object.entries(may).map(([kind, seen]) => ({ route, kind: kind as Kind, seen, body })),
)

it.each(cases)('$route responds with $seen to $kind', async ({ route, kind, seen, body }) => {
  const person = new Api(gateway)
  const id = await person.session()
  const ownToken = gateway.credentials.sessionToken(id)
  const { interactionId } = await new Api(gateway, ownToken).open(id, approval)
  const [method = '', template = ''] = route.split(' ')
  const path = template
    .replace('/sessions/{id}', `/sessions/${id}`)
    .replace('{interactionId}', interactionId)
    .replaceAll(/\{\w+\}/g, 'nothing')
  const api = new Api(gateway, kind === 'own' ? ownToken : tokens[kind])
  const answered = await api.send(method, path, body, { accept: 'application/json' })
  if (seen === 'ok') expect([401, 403]).not.toContain(answered.status)
  else {
    const code = seen === 401 ? 'unauthorized' : 'forbidden'
    expect(answered).toMatchObject({ status: seen, body: { error: { code } } })
  }
})

describe('an agent', () => {
  it('that is an outside agent may not use a session that has an agent', async () => {
    const { session } = await gateway.host.desk.createSession({ agent: 'demo' })
    const outside = new Api(gateway, gateway.agentToken)
    expect((await outside.get(`/api/sessions/${session.id}`)).status).toBe(403)
    expect((await outside.post(`/api/sessions/${session.id}/interactions`, question)).status).toBe(403)
    const own = new Api(gateway, gateway.credentials.sessionToken(session.id))
    expect((await own.get(`/api/sessions/${session.id}`)).status).toBe(200)
  })

  it('gets not_found for a session that does not exist', async () => {
    const outside = new Api(gateway, gateway.agentToken)
    expect((await outside.get('/api/sessions/nowhere')).status).toBe(404)
  })

  it.each([
    {},
    { agent: 'demo' },
    { agent: null, permissionMode: 'acceptEdits' },
    { agent: null, permissionMode: 'bypassPermissions' },
  ])('may not create the session %o', async (body) => {
    const outside = new Api(gateway, gateway.agentToken)
    expect(await outside.post('/api/sessions', body)).toMatchObject({
      status: 403,
      body: { error: { code: 'forbidden' } },
    })
  })

  it('may create a session in a mode that asks', async () => {
    const outside = new Api(gateway, gateway.agentToken)
    expect((await outside.post('/api/sessions', { agent: null, permissionMode: 'plan' })).status).toBe(201)
  })

  it('cannot derive the token of another session from its own', async () => {
    const own = gateway.credentials.sessionToken('a')
    const forged = own.replace('session_a.', 'session_b.')
    expect((await new Api(gateway, forged).get('/api/sessions/b')).status).toBe(401)
  })
})
