import type { Interaction } from '@askback/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Api, approval, question, sqlite, startTestGateway, type TestGateway } from '../testing/index.js'

type One = { interaction: Interaction }

let gateway: TestGateway
let person: Api
let agent: Api

beforeEach(async () => {
  gateway = await startTestGateway({ listen: false })
  person = new Api(gateway)
  agent = new Api(gateway, gateway.agentToken)
})
afterEach(() => gateway.close())

describe('opening', () => {
  it('responds with 201 and the interaction, and to a repeated request with 200 and the same one', async () => {
    const id = await agent.session()
    const key = { 'idempotency-key': 'one' }
    const path = `/api/sessions/${id}/interactions`
    const first = await agent.post<One>(path, { ...question, toolCallId: 't' }, key)
    const again = await agent.post<One>(path, { ...question, toolCallId: 't' }, key)
    expect(first).toMatchObject({
      status: 201,
      body: { interaction: { status: 'pending', toolCallId: 't' } },
    })
    expect(again).toMatchObject({ status: 200, body: first.body })
  })

  it('takes no notes, which only the gateway itself may add', async () => {
    const { interactionId, sessionId } = await agent.open(await agent.session(), {
      ...approval,
      notes: ['only_always'],
    })
    const { body } = await person.get<One>(`/api/sessions/${sessionId}/interactions/${interactionId}`)
    expect(body.interaction).not.toHaveProperty('notes')
  })

  it.each([
    ['another request', { ...approval, toolCallId: 't' }],
    ['another tool call', { ...question, toolCallId: 'u' }],
    ['another deadline', { ...question, toolCallId: 't', timeoutMs: 5 }],
  ])('refuses a key that was used for %s', async (_, body) => {
    const id = await agent.session()
    const key = { 'idempotency-key': 'one' }
    await agent.open(id, { ...question, toolCallId: 't' }, key)
    expect(await agent.post(`/api/sessions/${id}/interactions`, body, key)).toMatchObject({
      status: 409,
      body: { error: { code: 'idempotency_mismatch' } },
    })
  })

  it('uses the tool call of the environment, unless the body names one', async () => {
    const id = await agent.session()
    const header = { 'askback-tool-call': 'from-shell' }
    const path = `/api/sessions/${id}/interactions`
    const fromHeader = await agent.post<One>(path, question, header)
    const fromBody = await agent.post<One>(path, { ...question, toolCallId: 'named' }, header)
    expect(fromHeader.body.interaction).toMatchObject({ toolCallId: 'from-shell', anchor: 'exact' })
    expect(fromBody.body.interaction).toMatchObject({ toolCallId: 'named', anchor: 'exact' })
  })

  it('reads the tool call of the environment as UTF-8, and refuses invalid UTF-8', async () => {
    const path = `/api/sessions/${await agent.session()}/interactions`
    const named = (bytes: Buffer) =>
      agent.post<One>(path, question, { 'askback-tool-call': bytes.toString('latin1') })
    expect((await named(Buffer.from('appel-é-呼'))).body.interaction.toolCallId).toBe('appel-é-呼')
    expect(await named(Buffer.from('appel-é', 'latin1'))).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_request' } },
    })
  })

  it('refuses the thread of another agent if its own is known', async () => {
    const id = await agent.session()
    const ask = (thread: string) =>
      agent.post(
        `/api/sessions/${id}/interactions`,
        { ...question, toolCallId: 't' },
        { 'askback-agent-thread': thread },
      )
    expect((await ask('any')).status).toBe(201)
    await gateway.host.desk.report({
      sessionId: id,
      events: [{ type: 'agent_session', agentSessionId: 'mine' }],
    })
    expect((await ask('mine')).status).toBe(201)
    expect(await ask('other')).toMatchObject({ status: 409, body: { error: { code: 'ambiguous' } } })
  })

  it('finds a reported tool call by its tool name', async () => {
    const id = await agent.session()
    const path = `/api/sessions/${id}`
    const input = { command: 'deploy_ask --now' }
    await agent.post(`${path}/tool-calls`, { toolCallId: 'c', toolName: 'Bash', input, turnId: 'turn' })
    const asked = await agent.post<One>(`${path}/interactions`, { ...question, toolName: 'deploy_ask' })
    expect(asked.body.interaction).toMatchObject({ toolCallId: 'c', turnId: 'turn', anchor: 'matched' })
  })

  it.each([
    [{ kind: 'nonsense', request: {} }, 400, 'unknown_kind'],
    [{ kind: 'question', request: { questions: [] } }, 400, 'invalid_request'],
    [{ request: {} }, 400, 'invalid_request'],
    [{ ...question, timeoutMs: -1 }, 400, 'invalid_request'],
    [{ ...question, onTimeout: 'explode' }, 400, 'invalid_request'],
    [[], 400, 'invalid_request'],
    [{ ...approval, request: { input: 'x'.repeat(1024 * 1024) } }, 413, 'too_large'],
  ])('refuses %o', async (body, status, code) => {
    const id = await agent.session()
    expect(await agent.post(`/api/sessions/${id}/interactions`, body)).toMatchObject({
      status,
      body: { error: { code } },
    })
  })

  it('[L5] lets no agent set a default answer for an approval or a plan review', async () => {
    const id = await agent.session()
    const path = `/api/sessions/${id}/interactions`
    const onTimeout = { answer: { decision: 'approve' } }
    const plan = { kind: 'plan_review', request: { plan: 'p' }, onTimeout: { answer: { decision: 'edit' } } }
    expect((await agent.post(path, { ...approval, toolCallId: 't', onTimeout })).status).toBe(403)
    expect((await agent.post(path, { ...plan, toolCallId: 't' })).status).toBe(403)
    expect((await person.post(path, { ...approval, toolCallId: 't', onTimeout })).status).toBe(201)
    expect((await agent.post(path, { ...question, toolCallId: 't', onTimeout: sqlite })).status).toBe(201)
  })

  it('responds with 429 and Retry-After above the limit of pending interactions', async () => {
    await gateway.close()
    gateway = await startTestGateway({ listen: false, config: { limits: { pendingPerSession: 1 } } })
    agent = new Api(gateway, gateway.agentToken)
    const id = await agent.session()
    await agent.open(id)
    const beyond = await agent.post(`/api/sessions/${id}/interactions`, { ...question, toolCallId: 't' })
    expect(beyond).toMatchObject({ status: 429, body: { error: { code: 'rate_limited' } } })
    expect(Number(beyond.headers['retry-after'])).toBeGreaterThan(0)
  })
})
