import { fakeClock, type FakeClock } from '@askback/core/testing'
import type { ErrorBody, Interaction, Session } from '@askback/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openSse } from '../streams/sse-client.test.helper.js'
import { wsClient } from '../streams/ws-client.test.helper.js'
import { quickAgent } from '../testing/test-agents.test.helper.js'
import { Api, approval, question, startTestGateway, type TestGateway } from '../testing/index.js'
import type { AccessRequest, AuthenticatedActor } from './embedder.js'

/*
 * What tells an attacker that a session of somebody else exists, or what is in it: on ways that do not name the session.
 */

/** The id of an actor is the name of their tenant, with the role behind it: `acme`, `globex.agent`. */
function actorOf(id: string): AuthenticatedActor {
  const [tenant = '', role] = id.split('.')
  return { id, role: role === 'agent' ? 'agent' : 'person', tags: { tenant } }
}

let gateway: TestGateway
/** What `authorize` is asked in addition. */
let isOpen: (request: AccessRequest) => boolean | Promise<boolean>
let asked: number
let clock: FakeClock
beforeEach(async () => {
  clock = fakeClock()
  isOpen = () => true
  asked = 0
  gateway = await startTestGateway({
    agents: [quickAgent],
    clock,
    decisionMs: 50,
    authenticate: ({ headers }: { headers: Record<string, string | undefined> }) =>
      headers['x-who'] === undefined ? null : actorOf(headers['x-who']),
    authorize: async ({ tags }: AuthenticatedActor, request: AccessRequest) => {
      asked++
      return request.session?.tags.tenant === tags?.tenant && (await isOpen(request))
    },
  })
})
afterEach(() => gateway.close())

const as = (who: string) => new Api(gateway, null, { 'x-who': who })
const port = () => Number(new URL(gateway.url).port)
const adopt = (who: string, more: object) =>
  as(who).post<ErrorBody & { session: Session }>('/api/sessions/adopt', {
    agent: 'quick',
    agentSessionId: 'thread',
    items: [],
    ...more,
  })

async function sessionOf(tenant: string, more: object = {}): Promise<string> {
  const body = { agent: null, ...more }
  return (await as(tenant).post<{ session: Session }>('/api/sessions', body)).body.session.id
}

describe('the stream of all sessions', () => {
  it('does not say the id of a session whose tags change and that the reader could never read', async () => {
    const theirs = await sessionOf('acme')
    const ours = await sessionOf('globex')
    const stream = await openSse(port(), '/api/events', { 'x-who': 'globex' })
    const socket = await wsClient(port(), { 'x-who': 'globex' })
    await socket.ask({ op: 'subscribe', sessionId: '*', after: 0 })
    await gateway.host.desk.setTags(theirs, { tenant: 'acme', more: 'x' })
    await gateway.host.desk.setTags(theirs, { tenant: 'initech' })
    await as('globex').open(ours)
    await expect.poll(() => JSON.stringify(stream.messages)).toContain(ours)
    await expect.poll(() => JSON.stringify(socket.frames)).toContain(ours)
    expect(JSON.stringify([stream.messages, socket.frames])).not.toContain(theirs)
  })

  it('says that a session is gone to who could read it, although nothing had happened in it', async () => {
    const id = await sessionOf('acme')
    const stream = await openSse(port(), '/api/events', { 'x-who': 'acme' })
    await gateway.host.desk.setTags(id, { tenant: 'globex' })
    await expect.poll(() => stream.messages.at(-1)).toEqual({ event: 'gone', data: { sessionId: id } })
  })
})

describe('an agent of another tenant', () => {
  it('gets the same response for a session that an agent of the gateway runs as for one that does not exist', async () => {
    const real = await sessionOf('acme', { agent: 'quick', cwd: '/' })
    const stranger = as('globex.agent')
    const responses = async (id: string) => {
      const socket = await wsClient(port(), { 'x-who': 'globex.agent' })
      const all: unknown[] = [await socket.ask({ op: 'subscribe', sessionId: id, after: 0 })]
      for (const path of ['', '/events', '/interactions/i'])
        all.push(await stranger.get(`/api/sessions/${id}${path}`))
      all.push(await stranger.post(`/api/sessions/${id}/interactions`, question))
      // The headers have the length of the id.
      return all.map((each) => JSON.stringify({ ...(each as object), headers: null }).replaceAll(id, 'ID'))
    }
    expect(await responses(real)).toEqual(await responses('nothing'))
  })
})

describe('adopting a session', () => {
  it('copies nothing that was asked in the sessions of others, whatever folder and times it names', async () => {
    const theirs = await sessionOf('acme', { cwd: '/work/secret' })
    const ours = await sessionOf('globex', { cwd: '/work/ours' })
    const ask = async (who: string, sessionId: string) => {
      const body = { ...question, toolCallId: `call of ${who}`, request: questionOf(who) }
      const { interactionId, requestedAt } = await as(who).open(sessionId, body)
      const answer = { answers: [{ selected: [], other: `answer of ${who}` }] }
      await gateway.host.desk.respond({ sessionId, interactionId, answer })
      return requestedAt
    }
    await ask('acme', theirs)
    const at = await ask('globex', ours)
    const items = ['acme', 'globex'].flatMap((who) => [
      { type: 'tool_call', at, toolCallId: `call of ${who}`, toolName: 'exec', input: {} },
      { type: 'tool_result', at: at + 1, toolCallId: `call of ${who}`, output: '', isError: false },
    ])
    const { body } = await adopt('globex', { cwd: '/work', items })
    const log = JSON.stringify(await gateway.store.read({ sessionId: body.session.id, limit: 1000 }))
    expect(log).toContain('words of globex')
    expect(log).not.toMatch(/(words|answer) of acme/)
    expect((await adopt('globex', { agentSessionId: 'other', from: theirs })).status).toBe(404)
  })

  it('says nothing of a session that somebody else has adopted, and writes nothing to it', async () => {
    const { body } = await adopt('acme', { title: 'SECRET' })
    const { id } = body.session
    const running = await sessionOf('acme', { agent: 'quick', cwd: '/running' })
    await gateway.host.desk.report({
      sessionId: running,
      events: [{ type: 'agent_session', agentSessionId: 'run-here' }],
    })
    const before = await gateway.store.read({ sessionId: id, limit: 100 })
    const items = [{ type: 'user_message', at: 1, text: 'injected' }]
    for (const more of [{ items }, { agentSessionId: 'run-here', cwd: '/running' }]) {
      const refused = await adopt('globex', more)
      expect(refused.status).toBe(404)
      for (const secret of [id, running, 'SECRET']) expect(JSON.stringify(refused.body)).not.toContain(secret)
    }
    expect(await gateway.store.read({ sessionId: id, limit: 100 })).toEqual(before)
  })

  it('gives the session its tags with its first event, so that it is never without', async () => {
    const { body } = await adopt('acme', {})
    expect(body.session.tags).toEqual({ tenant: 'acme' })
    const [first] = await gateway.store.read({ sessionId: body.session.id, limit: 1 })
    expect(first).toMatchObject({ type: 'session_started', tags: { tenant: 'acme' } })
    expect((await gateway.store.session(body.session.id))?.tags).toEqual({ tenant: 'acme' })
  })
})

describe('a rule', () => {
  it('of a session that the caller may not read looks like one that does not exist', async () => {
    const id = await sessionOf('acme', { cwd: '/c' })
    const { interactionId } = await as('acme').open(id, approval)
    const answer = { decision: 'approve', scope: 'session' }
    await as('acme').post(`/api/sessions/${id}/interactions/${interactionId}/response`, { answer })
    const [rule] = (await as('acme').get<{ rules: { id: string }[] }>('/api/rules')).body.rules
    const refused = async (ruleId: string) => {
      const { status, body } = await as('globex').delete(`/api/rules/${ruleId}`)
      return `${status} ${body.error.message.replace(ruleId, 'ID')}`
    }
    expect(await refused(rule!.id)).toBe('404 There is no rule ID.')
    expect(await refused('nothing')).toBe('404 There is no rule ID.')
  })
})

describe('an authorize that changes its mind', () => {
  it('ends a long poll without the answer', async () => {
    const id = await sessionOf('acme')
    const { interactionId } = await as('acme').open(id)
    const path = `/api/sessions/${id}/interactions/${interactionId}`
    const [before, poll] = [asked, as('acme').get<{ interaction: Interaction }>(`${path}?wait=30`)]
    await expect.poll(() => asked).toBeGreaterThan(before)
    isOpen = () => false
    const answer = { answers: [{ selected: ['SQLite'] }] }
    await gateway.host.desk.respond({ sessionId: id, interactionId, answer })
    const { status, body } = await poll
    expect({ status, text: JSON.stringify(body) }).toEqual({
      status: 404,
      text: expect.not.stringContaining('SQLite') as unknown,
    })
  })

  it('ends the streams of the session within 15 seconds, and sends nothing of it to that of all sessions', async () => {
    const id = await sessionOf('acme')
    const stream = await openSse(port(), `/api/sessions/${id}/events`, { 'x-who': 'acme' })
    const all = await openSse(port(), '/api/events', { 'x-who': 'acme' })
    const socket = await wsClient(port(), { 'x-who': 'acme' })
    await socket.ask({ op: 'subscribe', sessionId: id, after: 0 })
    isOpen = ({ session }) => session?.id !== id
    clock.advance(15_001)
    await stream.ended
    await expect.poll(() => socket.frames.at(-1)).toEqual({ op: 'resync', sessionId: id })
    await gateway.host.desk.open({ sessionId: id, kind: 'approval', request: { input: {} } })
    const other = await sessionOf('acme')
    await as('acme').open(other)
    await expect.poll(() => JSON.stringify(all.messages)).toContain(other)
    expect(JSON.stringify(all.messages)).not.toContain(id)
  })

  it('in the object that it gets is asked about the session as it is', async () => {
    const id = await sessionOf('acme')
    const seen: string[] = []
    isOpen = ({ session, action }) => {
      seen.push(`${action} ${session?.tags['tenant']} ${session?.id === id}`)
      if (session) Object.assign(session, { id: 'other', tags: { tenant: 'globex' } })
      return true
    }
    await as('acme').post(`/api/sessions/${id}/permission-mode`, { mode: 'plan' })
    expect(seen).toEqual(['read acme true', 'manage acme true'])
  })

  it('and fails is not asked about the rest of a list', async () => {
    for (let index = 0; index < 120; index++)
      await gateway.host.desk.createSession({ agent: null, tags: { tenant: 'acme' } })
    asked = 0
    let release = () => {}
    const hanging = new Promise<boolean>((resolve) => (release = () => resolve(true)))
    isOpen = () => (asked === 1 ? Promise.reject(new Error('broken')) : hanging)
    expect((await as('acme').get('/api/sessions')).status).toBe(403)
    release()
    isOpen = () => true
    const before = asked
    await as('acme').get('/api/agents')
    expect(asked).toBe(before)
  })
})

function questionOf(who: string) {
  return {
    questions: [{ header: 'Q', question: `words of ${who}?`, options: [], multiSelect: false }],
  }
}
