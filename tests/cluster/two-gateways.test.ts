import type { Interaction, SessionEvent, SessionStateJson } from '@askback/protocol'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { at, question, sqlite, type RunningGateway } from '../e2e/http/gateways.js'
import { sessionToken } from '../../packages/gateway/src/credentials/credential.js'
import { TestCluster } from './test-cluster.js'

let cluster: TestCluster
let a: RunningGateway
let b: RunningGateway

beforeAll(async () => {
  // Long enough that a slow gateway does not lose its leases.
  cluster = await TestCluster.start({ gateways: 0, leaseMs: 10_000 })
})
afterAll(() => cluster.end())
beforeEach(async () => {
  a = await cluster.add()
  b = await cluster.add()
})
afterEach(() => cluster.gateways.splice(0))

describe('two gateways on one PostgreSQL', () => {
  it('accept the tokens of each other, of which the database has only the hashes', async () => {
    for (const [one, other] of [
      [a, b],
      [b, a],
    ] as const) {
      expect((await other.call('GET', '/api/sessions', { as: one.ready.token })).status).toBe(200)
      const { agentToken: as } = one.ready
      expect((await other.call('POST', '/api/sessions', { as, body: { agent: null } })).status).toBe(201)
    }
    const rows = await cluster.sql<{ value: string }>('SELECT key || value AS value FROM askback.kv')
    const stored = rows.map(({ value }) => value).join('\n')
    for (const { ready } of [a, b])
      for (const token of [ready.token, ready.agentToken]) expect(stored).not.toContain(token)
  })

  it('serve the same interaction: one is asked, the other answered', async () => {
    const item = await a.open(await a.session())
    const waiting = a.call<{ interaction: Interaction }>('GET', `${at(item)}?wait=30`, {
      as: a.ready.agentToken,
    })
    expect((await b.call('POST', `${at(item)}/response`, { body: sqlite })).status).toBe(200)
    expect((await waiting).body.interaction).toMatchObject({ settlement: 'answered', answer: sqlite.answer })
    expect((await a.call('POST', `${at(item)}/response`, { body: sqlite })).status).toBe(409)
  })

  it('stream at one what the agent at the other is writing', async () => {
    const id = await agentSession(a)
    const stop = new AbortController()
    const stream = await fetch(`${b.ready.url}/api/sessions/${id}/events?after=0`, {
      headers: { authorization: `Bearer ${b.ready.token}` },
      signal: stop.signal,
    })
    let text = ''
    const read = (async () => {
      for await (const part of stream.body!) text += Buffer.from(part).toString()
    })().catch(() => undefined)
    await say(a, id, 'parallel')
    await expect.poll(() => text).toContain('event: text_delta')
    await expect.poll(() => text).toContain('event: interaction_request')
    stop.abort()
    await read
  })

  it('pass a message, a mode and an interrupt to the one that runs the agent', async () => {
    const id = await agentSession(a)
    await say(a, id, 'parallel')
    await pendingOf(b, id, 3)
    await say(b, id, 'by the way')
    await expect
      .poll(async () => JSON.stringify(await events(b, id)))
      .toContain('Noted while I work: “by the way”')
    expect(
      (await b.call('POST', `/api/sessions/${id}/permission-mode`, { body: { mode: 'plan' } })).status,
    ).toBe(202)
    expect((await b.call('POST', `/api/sessions/${id}/interrupt`)).status).toBe(202)
    await expect.poll(async () => (await ended(b, id)).map(({ reason }) => reason)).toEqual(['interrupted'])
  })

  it('[L10] take over from one that was killed, and pending interactions stay answerable', async () => {
    const id = await agentSession(a)
    await say(a, id, 'parallel')
    const [first, ...rest] = await pendingOf(b, id, 3)
    await cluster.kill(a)
    expect((await answer(b, first!)).status).toBe(200)
    await expect.poll(async () => lostOf(await events(b, id))).toHaveLength(1)
    for (const item of rest) expect((await answer(b, item)).status).toBe(200)
    await expect.poll(async () => (await ended(b, id)).map(({ reason }) => reason)).toEqual(['done'])
    const log = await events(b, id)
    expect(log.filter((event) => event.type === 'interaction_request')).toHaveLength(3)
    expect(log.filter((event) => event.type === 'interaction_response')).toHaveLength(3)
  })

  it('take over at once from one that stops cleanly', async () => {
    const id = await agentSession(a)
    await say(a, id, 'parallel')
    const pending = await pendingOf(b, id, 3)
    await a.stop('SIGTERM')
    for (const item of pending) expect((await answer(b, item)).status).toBe(200)
    await expect.poll(async () => (await ended(b, id)).map(({ reason }) => reason)).toEqual(['done'])
  })

  it('[L10] one that was suspended longer than its lease writes nothing more for its agent', async () => {
    const id = await agentSession(a)
    await say(a, id, 'parallel')
    const pending = await pendingOf(b, id, 3)
    cluster.freeze(a)
    await expect.poll(async () => lostOf(await events(b, id))).toHaveLength(1)
    const asScript = { as: await scriptToken(id), body: question }
    cluster.thaw(a)
    // A shell that its agent left running may be the first to call.
    const asked = await a.call('POST', `/api/sessions/${id}/interactions`, asScript)
    expect(asked).toMatchObject({ status: 403, body: { error: { code: 'forbidden' } } })
    for (const item of pending) expect((await answer(a, item)).status).toBe(200)
    await expect.poll(async () => (await ended(b, id)).map(({ reason }) => reason)).toEqual(['done'])
    const log = await events(b, id)
    for (const type of [
      'interaction_request',
      'interaction_response',
      'interaction_delivered',
      'tool_result',
    ])
      expect([type, log.filter((event) => event.type === type).length]).toEqual([type, 3])
    await say(a, id, 'parallel')
    expect(await pendingOf(a, id, 3)).toHaveLength(3)
  })
})

/** The token in the environment of the session's agent. */
async function scriptToken(id: string): Promise<string> {
  const [row] = await cluster.sql<{ value: string }>(
    "SELECT value FROM askback.kv WHERE key = 'credential/secret'",
  )
  return sessionToken(JSON.parse(row!.value) as string, id)
}

async function agentSession(gateway: RunningGateway): Promise<string> {
  const { body } = await gateway.call<{ session: { id: string } }>('POST', '/api/sessions', {
    body: { agent: 'demo' },
  })
  return body.session.id
}

async function say(gateway: RunningGateway, id: string, text: string): Promise<void> {
  const { status } = await gateway.call('POST', `/api/sessions/${id}/messages`, {
    body: { text, route: 'agent' },
  })
  expect(status).toBe(202)
}

async function pendingOf(gateway: RunningGateway, id: string, count: number): Promise<Interaction[]> {
  const readPending = async () =>
    (await gateway.call<{ state: SessionStateJson }>('GET', `/api/sessions/${id}`)).body.state.pending
  await expect.poll(readPending).toHaveLength(count)
  return readPending()
}

function answer(gateway: RunningGateway, item: Interaction) {
  const { questions } = item.request as { questions?: typeof question.request.questions }
  const body = questions
    ? { answer: { answers: [{ selected: [questions[0]!.options[0]!.label] }] } }
    : { answer: { decision: 'approve' } }
  return gateway.call('POST', `${at(item)}/response`, { body })
}

async function events(gateway: RunningGateway, id: string): Promise<SessionEvent[]> {
  const response = await fetch(`${gateway.ready.url}/api/sessions/${id}/events?limit=1000`, {
    headers: { authorization: `Bearer ${gateway.ready.token}`, accept: 'application/json' },
  })
  return ((await response.json()) as { events: SessionEvent[] }).events
}

async function ended(gateway: RunningGateway, id: string) {
  return (await events(gateway, id)).filter((event) => event.type === 'turn_ended')
}

function lostOf(log: SessionEvent[]): SessionEvent[] {
  return log.filter((event) => event.type === 'error' && event.message.includes('taken over'))
}
