import type { Interaction, ToolCall } from '@askback/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { macOf } from './credentials/credential.js'
import { Api, approval, approve, question, startTestGateway, type TestGateway } from './testing/index.js'

let gateway: TestGateway
let person: Api
let id: string

beforeEach(async () => {
  gateway = await startTestGateway({ listen: false })
  person = new Api(gateway)
  id = await person.session()
})
afterEach(() => gateway.close())

const key = { 'idempotency-key': 'the-key' }

const seq = async () => (await gateway.host.desk.snapshot(id)).seq

/** The writes to one session: how each is prepared, and another body for which the same key must be refused. */
const writes: { path: string; body: object; other?: object; needs?: 'question' | 'approval' }[] = [
  { path: 'messages', body: { text: 'hello' }, other: { text: 'goodbye' } },
  { path: 'tool-calls', body: { toolName: 'Bash', input: {} }, other: { toolName: 'Bash', input: { a: 1 } } },
  { path: 'interactions', body: { ...question, toolCallId: 't' }, other: { ...approval, toolCallId: 't' } },
  {
    path: 'submit-answers',
    needs: 'question',
    body: { toolCallId: 'call', answers: { '0': 'SQLite' } },
    other: { toolCallId: 'call', answers: { '0': 'Postgres' } },
  },
  {
    path: 'approve',
    needs: 'approval',
    body: { toolCallId: 'call' },
    other: { toolCallId: 'call', scope: 'session' },
  },
  {
    path: 'deny',
    needs: 'approval',
    body: { toolCallId: 'call' },
    other: { toolCallId: 'call', message: 'no' },
  },
  { path: 'interrupt', needs: 'approval', body: {} },
  { path: 'clear', body: {} },
  { path: 'permission-mode', body: { mode: 'plan' }, other: { mode: 'default' } },
]

describe.each(writes)('POST /sessions/:id/$path', ({ path, body, needs }) => {
  const url = () => `/api/sessions/${id}/${path}`
  beforeEach(async () => {
    if (needs) await person.open(id, needs === 'question' ? question : approval)
  })

  it('runs a repeated request once, and responds the same', async () => {
    const first = await person.post(url(), body, key)
    const after = await seq()
    const second = await person.post(url(), body, key)
    expect(first.status).toBeLessThan(300)
    expect(second).toMatchObject({ status: first.status === 201 ? 200 : first.status, body: first.body })
    expect(await seq()).toBe(after)
  })
})

describe.each(writes.filter(({ other }) => other))(
  'POST /sessions/:id/$path',
  ({ path, body, other, needs }) => {
    it('refuses a key that was used for another request', async () => {
      if (needs) await person.open(id, needs === 'question' ? question : approval)
      const url = `/api/sessions/${id}/${path}`
      await person.post(url, body, key)
      expect(await person.post(url, other, key)).toMatchObject({
        status: 409,
        body: { error: { code: 'idempotency_mismatch' } },
      })
    })
  },
)

describe('a key', () => {
  it('creates one session only', async () => {
    const made = await person.post<{ session: { id: string } }>('/api/sessions', { agent: null }, key)
    const again = await person.post('/api/sessions', { agent: null }, key)
    expect(made.status).toBe(201)
    expect(again).toMatchObject({ status: 200, body: made.body })
    expect((await person.post('/api/sessions', { agent: null, title: 'x' }, key)).status).toBe(409)
  })

  it('gives a repeated tool call without an id the same id', async () => {
    type Call = { toolCall: ToolCall }
    const url = `/api/sessions/${id}/tool-calls`
    const first = await person.post<Call>(url, { toolName: 'Bash', input: {} }, key)
    const again = await person.post<Call>(url, { toolName: 'Bash', input: {} }, key)
    const other = await person.post<Call>(url, { toolName: 'Bash', input: {} })
    expect(again.body.toolCall.toolCallId).toBe(first.body.toolCall.toolCallId)
    expect(other.body.toolCall.toolCallId).not.toBe(first.body.toolCall.toolCallId)
  })

  it('lets the deletion of a session, a rule or a token be repeated', async () => {
    const item = await person.open(id, approval)
    await person.post(`/api/sessions/${id}/interactions/${item.interactionId}/response`, {
      answer: { ...approve.answer, scope: 'session' },
    })
    const [rule] = await gateway.host.desk.rules()
    await person.post('/api/tokens', { person: 'bob' })
    for (const path of [`/api/rules/${rule!.id}`, '/api/tokens/bob', `/api/sessions/${id}`]) {
      const first = await person.delete(path, key)
      expect(first.status).toBeLessThan(300)
      expect(await person.delete(path, key)).toMatchObject({ status: first.status, body: first.body })
      expect((await person.delete(path)).status).toBe(404)
    }
  })

  it('cancels once', async () => {
    const item = await person.open(id)
    const path = `/api/sessions/${id}/interactions/${item.interactionId}`
    const first = await person.delete<{ interaction: Interaction }>(path, key)
    expect(await person.delete(path, key)).toMatchObject({ status: 200, body: first.body })
    expect((await person.delete(path)).status).toBe(409)
  })

  it('stores progress once', async () => {
    const [asked] = question.request.questions
    const item = await person.open(id, { ...question, request: { questions: [asked, asked] } })
    const path = `/api/sessions/${id}/interactions/${item.interactionId}/progress`
    const first = await person.post(path, { answers: [{ selected: ['SQLite'] }] }, key)
    const after = await seq()
    expect(first.status).toBe(200)
    expect(await person.post(path, { answers: [{ selected: ['SQLite'] }] }, key)).toMatchObject({
      status: 200,
      body: first.body,
    })
    expect(await person.post(path, { answers: [{ selected: ['Postgres'] }] }, key)).toMatchObject({
      status: 409,
      body: { error: { code: 'idempotency_mismatch' } },
    })
    expect(await seq()).toBe(after)
  })

  it('of a request that was refused and wrote nothing can be used again', async () => {
    await person.open(id, question)
    const path = `/api/sessions/${id}/submit-answers`
    const answer = (text: string) => person.post(path, { toolCallId: 'call', answers: { '0': text } }, key)
    expect((await answer('')).status).toBe(400)
    expect((await answer('SQLite')).status).toBe(200)
  })

  it('reports a result once', async () => {
    await person.post(`/api/sessions/${id}/tool-calls`, { toolCallId: 'c', toolName: 'Bash', input: {} })
    const path = `/api/sessions/${id}/tool-calls/c/result`
    expect((await person.post(path, { output: 'a' }, key)).status).toBe(200)
    expect((await person.post(path, { output: 'a' }, key)).status).toBe(200)
    expect((await person.post(path, { output: 'b' }, key)).status).toBe(409)
  })

  it('returns the same token to a repeated request, although only its hash is stored, and never restores a revoked one', async () => {
    type Made = { token: string }
    const first = await person.post<Made>('/api/tokens', { person: 'bob' }, key)
    const again = await person.post<Made>('/api/tokens', { person: 'bob' }, key)
    expect([first.status, again.status]).toEqual([201, 200])
    expect(again.body.token).toBe(first.body.token)
    expect((await person.post('/api/tokens', { person: 'eve' }, key)).status).toBe(409)
    await person.delete('/api/tokens/bob')
    await person.post('/api/tokens', { person: 'bob' }, key)
    expect((await new Api(gateway, first.body.token).get('/api/sessions')).status).toBe(401)
  })

  it.each([
    ['token', '/api/tokens', { person: 'bob' }],
    ['code', '/api/logins', undefined],
  ])('creates no %s that can be derived from the contents of the store', async (what, path, body) => {
    const made = await person.post<{ token?: string; openUrl?: string }>(path, body, key)
    const secretShown = made.body.token ?? new URL(made.body.openUrl!).searchParams.get('code')
    const again = await person.post(path, body, key)
    expect([made.status, again.status, again.body]).toEqual([201, 200, made.body])
    const { kv } = gateway.store
    const secret = (await kv.get('credential/secret'))!.value as string
    const records = (await kv.list('key/gateway/')).map((record) => record.key.slice('key/gateway/'.length))
    expect(records).toHaveLength(1)
    for (const record of records) expect(secretShown).not.toContain(macOf(secret, `${what} ${record}`))
  })

  it('is scoped to its credential, operation and session', async () => {
    const agent = new Api(gateway, gateway.agentToken)
    const other = await person.session()
    const open = async (api: Api, session: string) => {
      const { interactionId } = await api.open(session, question, key)
      return interactionId
    }
    const opened = [await open(person, id), await open(agent, id), await open(person, other)]
    expect(new Set(opened).size).toBe(3)
    expect((await person.post(`/api/sessions/${id}/messages`, { text: 'SQLite' }, key)).status).toBe(202)
  })

  it.each(['', ' ', 'x'.repeat(256), 'a b', 'ä'])('cannot be %j', async (value) => {
    const answered = await person.post(`/api/sessions/${id}/clear`, undefined, { 'idempotency-key': value })
    expect(answered).toMatchObject({ status: 400, body: { error: { code: 'invalid_request' } } })
  })
})
