import type { Session, SessionStateJson } from '@askback/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Api, approval, question, startTestGateway, type TestGateway } from '../testing/index.js'
import { missingAgent, quickAgent } from '../testing/test-agents.test.helper.js'

let gateway: TestGateway
let person: Api
beforeEach(async () => {
  gateway = await startTestGateway({ listen: false, agents: [quickAgent, missingAgent] })
  person = new Api(gateway)
})
afterEach(() => gateway.close())

describe('creating a session', () => {
  it('uses the first available agent, unless the request names one', async () => {
    const made = await person.post<{ session: Session }>('/api/sessions', { title: 'T', cwd: '/tmp' })
    expect(made).toMatchObject({
      status: 201,
      body: {
        session: { agent: 'quick', title: 'T', cwd: '/tmp', status: 'idle', permissionMode: 'default' },
      },
    })
  })

  it.each([{ agent: 'nobody' }, { permissionMode: 'yolo' }, { cwd: '' }, { agent: 1 }, 'text'])(
    'refuses %o',
    async (body) => {
      expect(await person.post('/api/sessions', body)).toMatchObject({
        status: 400,
        body: { error: { code: 'invalid_request' } },
      })
    },
  )

  it('responds with 429 above the limit', async () => {
    const small = await startTestGateway({ listen: false, config: { limits: { sessions: 1 } } })
    const api = new Api(small)
    await api.session()
    expect(await api.post('/api/sessions', { agent: null })).toMatchObject({
      status: 429,
      body: { error: { code: 'rate_limited' } },
    })
    await small.close()
  })
})

it('lists agents, and why one is not available', async () => {
  expect(await person.get('/api/agents')).toMatchObject({
    status: 200,
    body: {
      agents: [
        { id: 'quick', name: 'Quick', available: true },
        { id: 'missing', name: 'Missing', available: false, reason: 'It is not installed.' },
      ],
    },
  })
})

it('lists sessions newest first, page by page', async () => {
  type Page = { sessions: Session[]; next: string | null }
  const made: string[] = []
  for (const _ of [1, 2, 3]) made.unshift(await person.session())
  const first = await person.get<Page>('/api/sessions?limit=2')
  const second = await person.get<Page>(`/api/sessions?limit=2&after=${first.body.next}`)
  expect([...first.body.sessions, ...second.body.sessions].map(({ id }) => id)).toEqual(made)
  expect(second.body.next).toBeNull()
})

it('returns the current snapshot of a session', async () => {
  const id = await person.session()
  const item = await person.open(id)
  type Shown = {
    session: Session
    state: SessionStateJson
    seq: number
    now: number
    logId: string
    live: unknown[]
  }
  const { status, body } = await person.get<Shown>(`/api/sessions/${id}`)
  expect(status).toBe(200)
  expect(body.session).toMatchObject({ id, status: 'waiting' })
  expect(body.state.pending.map(({ interactionId }) => interactionId)).toEqual([item.interactionId])
  expect(body).toMatchObject({ seq: 4, live: [] })
  expect(body.logId).not.toBe('')
  expect(Math.abs(body.now - Date.now())).toBeLessThan(60_000)
})

it('says that a message is only logged if the session has no agent', async () => {
  const path = `/api/sessions/${await person.session({ agent: null })}/messages`
  expect(await person.post(path, { text: 'hello' })).toMatchObject({ status: 202, body: { routed: 'log' } })
})

it('starts a turn with a message, and accepts an answer as a message', async () => {
  const id = await person.session({ agent: 'quick' })
  const path = `/api/sessions/${id}/messages`
  expect(await person.post(path, { text: 'hello' })).toMatchObject({ status: 202, body: { routed: 'agent' } })
  const item = await person.open(id)
  expect(await person.post(path, { text: 'sqlite' })).toMatchObject({
    status: 202,
    body: { routed: 'interaction', interactionId: item.interactionId },
  })
  expect(await person.post(path, { text: 'x', route: 'interaction' })).toMatchObject({
    status: 409,
    body: { error: { code: 'nothing_pending' } },
  })
  expect((await person.post(path, { text: ' ' })).status).toBe(400)
  await person.open(id, approval)
  expect(await person.post(path, { text: 'ok' })).toMatchObject({
    status: 409,
    body: { error: { code: 'needs_decision' } },
  })
})

describe('[L8] controls', () => {
  it.each(['interrupt', 'clear'])('%s cancels what is pending before it responds', async (control) => {
    const id = await person.session()
    await person.open(id)
    expect((await person.post(`/api/sessions/${id}/${control}`)).status).toBe(202)
    const { state } = await gateway.host.desk.snapshot(id)
    expect(state.pending).toEqual([])
    expect(state.interactions[0]).toMatchObject({ settlement: 'cancelled', by: { id: 'owner' }, via: 'http' })
  })

  it('changes the permission mode to one that exists', async () => {
    const id = await person.session()
    const path = `/api/sessions/${id}/permission-mode`
    expect((await person.post(path, { mode: 'acceptEdits' })).status).toBe(202)
    expect((await person.post(path, { mode: 'dontAsk' })).status).toBe(400)
    expect((await gateway.host.desk.snapshot(id)).session.permissionMode).toBe('acceptEdits')
  })

  it('deletes a session and its log', async () => {
    const id = await person.session()
    const { interactionId } = await person.open(id)
    expect((await person.delete(`/api/sessions/${id}`)).status).toBe(202)
    for (const path of [`/api/sessions/${id}`, `/api/sessions/${id}/interactions/${interactionId}`])
      expect((await person.get(path)).status).toBe(404)
    expect((await person.delete(`/api/sessions/${id}`)).status).toBe(404)
    expect((await person.post(`/api/sessions/${id}/interactions`, question)).status).toBe(404)
  })
})

it.each([
  'interrupt',
  'clear',
  'messages',
  'permission-mode',
  'tool-calls',
  'interactions',
  'approve',
  'deny',
  'submit-answers',
])('responds with 404 to %s in a session that does not exist', async (path) => {
  const body = {
    ...question,
    text: 'x',
    mode: 'plan',
    toolName: 'T',
    input: {},
    toolCallId: 't',
    answers: {},
  }
  expect(await person.post(`/api/sessions/nowhere/${path}`, body)).toMatchObject({
    status: 404,
    body: { error: { code: 'not_found' } },
  })
})
