import { expect, it } from 'vitest'
import { Leases } from '../cluster/leases.js'
import { memoryBus } from '../cluster/bus.js'
import { createDesk } from '../desk/desk.js'
import { memoryStore } from '../store/memory-store.js'
import { fakeClock } from '../testing/fake-clock.js'
import type { AgentAdapter, AgentContext, AgentEnd } from './agent.js'
import { createHost, type Host } from './host.js'

const me = { by: { id: 'me' }, via: 'direct' } as const
const TEN_MINUTES = 10 * 60_000
const question = {
  questions: [{ header: 'Go', question: 'Go on?', options: [{ label: 'Yes' }], multiSelect: false }],
}

interface Freeable {
  context: AgentContext
  isStopped: boolean
}

/** An agent that repeats its messages, except `work`, on which it works until it is interrupted. */
function repeater(agents: Freeable[], canBeFreed: () => boolean): AgentAdapter {
  return {
    id: 'repeater',
    name: 'Repeater',
    check: async () => ({ available: true }),
    async start(context) {
      const agent: Freeable = { context, isStopped: false }
      agents.push(agent)
      let end = (_: AgentEnd) => {}
      const ended = new Promise<AgentEnd>((resolve) => (end = resolve))
      await context.report({ type: 'agent_session', agentSessionId: 'conversation' })
      return {
        ended,
        async send({ text, turnId }) {
          if (text === 'work') return
          await context.report(
            { type: 'text', blockId: `${turnId} ${text}`, text, turnId },
            { type: 'turn_ended', turnId, reason: 'done' },
          )
        },
        interrupt: async () => {},
        setPermissionMode: async () => {},
        canBeFreed,
        stop: async () => {
          agent.isStopped = true
          end({ how: 'stopped' })
        },
      }
    },
  }
}

async function idleSession({
  canBeFreed = () => true,
  freeAfterMs,
  withLeases = false,
}: { canBeFreed?: () => boolean; freeAfterMs?: number | null; withLeases?: boolean } = {}) {
  const store = { ...memoryStore(), shared: withLeases }
  const clock = fakeClock()
  const join = memoryBus()
  const agents: Freeable[] = []
  const errors: unknown[] = []
  const onError = (error: unknown) => errors.push(error)
  const open = async () => {
    const bus = join()
    const leases = new Leases({ store, bus, clock, leaseMs: 100 * TEN_MINUTES, onError })
    const host = createHost({
      desk: createDesk({ store, clock, onError }),
      agents: [repeater(agents, canBeFreed)],
      clock,
      ...(withLeases && { leases, bus }),
      ...(freeAfterMs !== undefined && { freeAfterMs }),
      onError,
    })
    await host.ready
    return host
  }
  const host = await open()
  const sessionId = (await host.createSession({})).session.id
  const say = (text: string, at: Host = host) => at.as(me).message({ sessionId, text, route: 'agent' })
  const of = async (type: string) =>
    (await store.read({ sessionId, limit: 100 })).filter((event) => event.type === type)
  const said = async (count: number) => {
    await expect.poll(async () => (await of('turn_ended')).length).toBe(count)
    // The alarm is set when the runner has read the end of the turn.
    await expect.poll(() => clock.armed).toBeGreaterThan(withLeases ? 1 : 0)
  }
  return { host, open, clock, agents, errors, sessionId, store, say, of, said }
}

it('ends an agent without a turn after ten minutes, and the next message continues its conversation', async () => {
  const { host, clock, agents, errors, say, of, said } = await idleSession()
  await say('one')
  await said(1)
  clock.advance(TEN_MINUTES - 1)
  expect(agents).toMatchObject([{ isStopped: false }])
  clock.advance(1)
  await expect.poll(() => agents[0]?.isStopped).toBe(true)
  const before = await of('session_status')
  await say('two')
  await said(2)
  expect(agents[1]?.context).toMatchObject({ agentSessionId: 'conversation', resume: null })
  expect(await of('text')).toMatchObject([{ text: 'one' }, { text: 'two' }])
  // People see nothing of it.
  expect(before.at(-1)).toMatchObject({ status: 'idle' })
  expect(await of('error')).toEqual([])
  expect(errors).toEqual([])
  await host.close()
})

it('counts from the end of the last turn', async () => {
  const { host, clock, agents, say, said } = await idleSession()
  await say('one')
  await said(1)
  clock.advance(TEN_MINUTES - 1)
  await say('two')
  await said(2)
  clock.advance(TEN_MINUTES - 1)
  expect(agents).toMatchObject([{ isStopped: false }])
  clock.advance(1)
  await expect.poll(() => agents[0]?.isStopped).toBe(true)
  await host.close()
})

it('a message at the very moment is worked on exactly once', async () => {
  const { host, clock, agents, errors, say, of, said } = await idleSession()
  await say('one')
  await said(1)
  const sent = say('two')
  clock.advance(TEN_MINUTES)
  await sent
  await said(2)
  clock.advance(TEN_MINUTES)
  await say('three')
  await said(3)
  expect(await of('text')).toMatchObject([{ text: 'one' }, { text: 'two' }, { text: 'three' }])
  expect(await of('error')).toEqual([])
  expect(agents.filter(({ isStopped }) => !isStopped)).toHaveLength(1)
  expect(errors).toEqual([])
  await host.close()
})

it('does not end an agent that works, nor one whose session has a pending request', async () => {
  const { host, clock, agents, sessionId, say, of, said } = await idleSession()
  await say('one')
  await said(1)
  await say('work')
  await expect.poll(async () => (await of('turn_started')).length).toBe(2)
  clock.advance(3 * TEN_MINUTES)
  await host.as(me).interrupt(sessionId)
  // A script in the background of the agent's shell may ask after the turn.
  const { interaction } = await host.desk.open({
    sessionId,
    kind: 'question',
    request: question,
    timeoutMs: null,
  })
  clock.advance(3 * TEN_MINUTES)
  const { interactionId } = interaction
  await host.desk.as(me).respond({ interactionId, answer: { answers: [{ selected: ['Yes'] }] } })
  expect(agents).toMatchObject([{ isStopped: false }])
  await expect
    .poll(() => {
      clock.advance(TEN_MINUTES)
      return agents[0]?.isStopped
    })
    .toBe(true)
  await host.close()
})

it('looks again at an agent with work in the background', async () => {
  let isBusy = true
  let looks = 0
  const canBeFreed = () => {
    looks++
    return !isBusy
  }
  const { host, clock, agents, say, said } = await idleSession({ canBeFreed })
  await say('one')
  await said(1)
  clock.advance(TEN_MINUTES)
  await expect.poll(() => looks).toBe(1)
  isBusy = false
  await expect.poll(() => clock.armed).toBe(1)
  expect(agents).toMatchObject([{ isStopped: false }])
  clock.advance(TEN_MINUTES)
  await expect.poll(() => agents[0]?.isStopped).toBe(true)
  await host.close()
})

it('never ends an agent if that is turned off', async () => {
  const { host, clock, agents, say, of } = await idleSession({ freeAfterMs: null })
  await say('one')
  await expect.poll(async () => (await of('turn_ended')).length).toBe(1)
  expect(clock.armed).toBe(0)
  expect(agents).toMatchObject([{ isStopped: false }])
  await host.close()
})

it('[L10] releases the lease, so that another process may run the agent', async () => {
  const { host, open, clock, agents, errors, sessionId, store, say, of, said } = await idleSession({
    withLeases: true,
  })
  await say('one')
  await said(1)
  expect(await store.kv.get(`lease/${sessionId}`)).not.toBeNull()
  clock.advance(TEN_MINUTES)
  await expect.poll(() => agents[0]?.isStopped).toBe(true)
  await expect.poll(() => store.kv.get(`lease/${sessionId}`)).toBeNull()
  const other = await open()
  await say('two', other)
  await said(2)
  expect(other.fenceOf(sessionId)).toBeDefined()
  expect(agents[1]?.context).toMatchObject({ agentSessionId: 'conversation', resume: null })
  expect(await of('error')).toEqual([])
  expect(errors).toEqual([])
  await Promise.all([host.close(), other.close()])
})
