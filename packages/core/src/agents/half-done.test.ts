import { AskbackError } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { Leases } from '../cluster/leases.js'
import { memoryBus } from '../cluster/bus.js'
import { createDesk } from '../desk/desk.js'
import { memoryStore } from '../store/memory-store.js'
import type { Append, Store } from '../store/store.js'
import { fakeClock } from '../testing/fake-clock.js'
import type { AgentAdapter, AgentContext, AgentEnd } from './agent.js'
import { createHost, type Host } from './host.js'

const LEASE_MS = 10_000
const me = { by: { id: 'me' }, via: 'direct' } as const
const away = () => new AskbackError('unavailable', 'The store is away.')

/** An agent that records its messages, and ends the turn of each of them except `wait`. */
function scripted(name = 'agent') {
  const given: string[] = []
  const contexts: AgentContext[] = []
  let turnId = ''
  const adapter: AgentAdapter = {
    id: 'scripted',
    name: 'Scripted',
    check: async () => ({ available: true }),
    async start(context) {
      contexts.push(context)
      let end = (_: AgentEnd) => {}
      const ended = new Promise<AgentEnd>((resolve) => (end = resolve))
      return {
        ended,
        async send(message) {
          given.push(`${name} ${message.text}`)
          ;({ turnId } = message)
          if (message.text !== 'wait') await context.report({ type: 'turn_ended', turnId, reason: 'done' })
        },
        interrupt: () => context.report({ type: 'turn_ended', turnId, reason: 'interrupted' }),
        setPermissionMode: async () => {},
        stop: async () => end({ how: 'stopped' }),
      }
    },
  }
  return { adapter, given, contexts }
}

/** A store that writes each append but loses the next so many replies. */
function losing(base: Store, loses: (append: Append) => boolean) {
  const left = { replies: 0 }
  const append: Store['append'] = async (given) => {
    const result = await base.append(given)
    if (left.replies > 0 && loses(given)) {
      left.replies--
      throw away()
    }
    return result
  }
  return { store: { ...base, append }, left }
}

const turnOf = async (host: Host, id: string) => (await host.snapshot(id, { fresh: true })).state.activeTurnId

describe('a command that became durable although its caller got an error', () => {
  async function single() {
    const { store, left } = losing(memoryStore(), () => true)
    const agent = scripted()
    const host = createHost({ desk: createDesk({ store }), agents: [agent.adapter], onError: () => {} })
    await host.ready
    const { id } = (await host.createSession({})).session
    return { host, id, left, agent }
  }

  it('is a message that reaches its agent, repeated or not', async () => {
    const { host, id, left, agent } = await single()
    left.replies = 1
    const message = { sessionId: id, text: 'one', idempotencyKey: 'k' }
    await expect(host.as(me).message(message)).rejects.toMatchObject({ code: 'unavailable' })
    await expect.poll(() => agent.given).toEqual(['agent one'])
    await host.as(me).message(message)
    await expect.poll(() => turnOf(host, id)).toBeNull()
    expect(agent.given).toEqual(['agent one'])
    await host.close()
  })

  it('is an interrupt that ends its own turn when it is repeated, and no later one', async () => {
    const { host, id, left } = await single()
    await host.as(me).message({ sessionId: id, text: 'wait' })
    const { interactionId } = (
      await host.desk.open({
        sessionId: id,
        kind: 'approval',
        toolName: 'Bash',
        request: { input: {} },
        timeoutMs: null,
      })
    ).interaction
    left.replies = 1
    const interrupt = () => host.as(me).interrupt(id, { idempotencyKey: 'k' })
    await expect(interrupt()).rejects.toMatchObject({ code: 'unavailable' })
    expect(await host.desk.interaction(id, interactionId)).toMatchObject({ settlement: 'cancelled' })
    await interrupt()
    expect(await turnOf(host, id)).toBeNull()
    await host.as(me).message({ sessionId: id, text: 'wait' })
    await interrupt()
    expect(await turnOf(host, id)).not.toBeNull()
    await host.close()
  })
})

it('an interrupt is completed although the store fails in the middle of it', async () => {
  const base = memoryStore()
  const fail = { ends: 0 }
  const append: Store['append'] = (given) =>
    given.events.some(({ type }) => type === 'turn_ended') && fail.ends-- > 0
      ? Promise.reject(away())
      : base.append(given)
  const clock = fakeClock()
  const { adapter } = scripted()
  // The agent leaves it to the host to end the turn.
  const start: AgentAdapter['start'] = async (...given) => ({
    ...(await adapter.start(...given)),
    interrupt: async () => {},
  })
  const desk = createDesk({ store: { ...base, append }, clock })
  const host = createHost({ desk, agents: [{ ...adapter, start }], clock, onError: () => {} })
  await host.ready
  const { id } = (await host.createSession({})).session
  await host.as(me).message({ sessionId: id, text: 'wait' })
  fail.ends = 1
  await host.as(me).interrupt(id)
  expect(await turnOf(host, id)).not.toBeNull()
  clock.advance(1000)
  await expect.poll(() => turnOf(host, id)).toBeNull()
  await host.close()
})

it.each(['clear', 'deleteSession'] as const)(
  'an agent that hangs in an interrupt is ended by %s',
  async (how) => {
    const { adapter, given } = scripted()
    const start: AgentAdapter['start'] = async (...call) => ({
      ...(await adapter.start(...call)),
      interrupt: () => new Promise(() => {}),
    })
    const desk = createDesk({ store: memoryStore() })
    const host = createHost({ desk, agents: [{ ...adapter, start }], onError: () => {} })
    await host.ready
    const { id } = (await host.createSession({})).session
    await host.as(me).message({ sessionId: id, text: 'wait' })
    await expect.poll(() => given).toHaveLength(1)
    const interrupted = host.as(me).interrupt(id)
    await new Promise((resolve) => setTimeout(resolve, 10))
    await host.as(me)[how](id)
    await interrupted
    await host.close()
  },
)

it('a deleted session is not created again by its agent', async () => {
  const agent = scripted()
  const store = memoryStore()
  const host = createHost({ desk: createDesk({ store }), agents: [agent.adapter], onError: () => {} })
  await host.ready
  const { id } = (await host.createSession({})).session
  await host.as(me).message({ sessionId: id, text: 'wait' })
  await expect.poll(() => agent.contexts).toHaveLength(1)
  await host.as(me).deleteSession(id)
  const asks = agent.contexts[0]!.session.approve({ input: {}, toolName: 'Bash' })
  await expect(asks).rejects.toMatchObject({ code: 'not_found' })
  expect(await store.session(id)).toBeNull()
  await host.close()
})

describe('two hosts on one store', () => {
  async function twoHosts() {
    const base = memoryStore()
    const ended: Append[] = []
    const append: Store['append'] = (given) => {
      if (given.events.some(({ type }) => type === 'turn_ended')) ended.push(given)
      return base.append(given)
    }
    const releasing = { before: async () => {} }
    const put: Store['kv']['put'] = async (key, value, ...rest) => {
      if (key.startsWith('lease/') && value === null) await releasing.before()
      return base.kv.put(key, value, ...rest)
    }
    const shared: Store = { ...base, append, kv: { ...base.kv, put }, shared: true }
    const clock = fakeClock()
    const join = memoryBus()
    const onError = () => {}
    const make = async (name: string) => {
      const bus = join()
      const agent = scripted(name)
      const leases = new Leases({ store: shared, bus, clock, leaseMs: LEASE_MS, onError })
      const desk = createDesk({ store: shared, clock, onError })
      const host = createHost({ desk, agents: [agent.adapter], bus, leases, clock, onError })
      await host.ready
      return { host, leases, agent }
    }
    const [here, there] = [await make('here'), await make('there')]
    const { id } = (await here.host.createSession({})).session
    /** Behaves as a process that dies right after the commit. */
    const onlyAppend = (text: string) =>
      there.host.desk.as(me).message({ sessionId: id, text, route: 'agent' })
    const close = () => Promise.all([here.host.close(), there.host.close()])
    /** From then on the other host owns the session, and the first one does not know it. */
    const takeFromHere = async () => {
      const entry = await shared.kv.get(`lease/${id}`)
      await shared.kv.put(entry!.key, { gateway: there.leases.id }, entry!.version)
    }
    return { here, there, id, ended, releasing, onlyAppend, takeFromHere, close }
  }

  it('run a message whose process died before it sent the command to the owner of the session', async () => {
    const { here, id, onlyAppend, close } = await twoHosts()
    await here.host.as(me).message({ sessionId: id, text: 'one' })
    await expect.poll(() => here.agent.given).toEqual(['here one'])
    await onlyAppend('two')
    await expect.poll(() => here.agent.given).toEqual(['here one', 'here two'])
    await expect.poll(() => turnOf(here.host, id)).toBeNull()
    await close()
  })

  it('run a message that was accepted by a process which has lost the session without knowing it', async () => {
    const { here, there, id, takeFromHere, close } = await twoHosts()
    await here.host.as(me).message({ sessionId: id, text: 'wait' })
    await expect.poll(() => here.agent.given).toEqual(['here wait'])
    await takeFromHere()
    await there.host.as(me).message({ sessionId: id, text: 'wait' })
    await expect.poll(() => there.agent.given.length).toBeGreaterThan(0)
    await here.host.as(me).message({ sessionId: id, text: 'two', route: 'agent' })
    await expect.poll(() => there.agent.given).toContain('there two')
    await expect.poll(() => turnOf(there.host, id)).toBeNull()
    await close()
  })

  it('are not blocked by the interrupt of an agent whose session was taken over', async () => {
    const { here, id, takeFromHere, close } = await twoHosts()
    await here.host.as(me).message({ sessionId: id, text: 'wait' })
    await expect.poll(() => here.agent.given).toEqual(['here wait'])
    await takeFromHere()
    await here.host.as(me).interrupt(id)
    await close()
  })

  it('run a message that arrived without a command while the lease was being released', async () => {
    const { here, id, releasing, onlyAppend, close } = await twoHosts()
    await here.host.as(me).message({ sessionId: id, text: 'one' })
    await expect.poll(() => here.agent.given).toEqual(['here one'])
    releasing.before = async () => {
      releasing.before = async () => {}
      await onlyAppend('two')
    }
    await here.host.as(me).clear(id)
    await expect.poll(() => here.agent.given).toEqual(['here one', 'here two'])
    await close()
  })

  it('end the turn of a cleared context while they hold its lease', async () => {
    const { here, id, ended, close } = await twoHosts()
    await here.host.as(me).message({ sessionId: id, text: 'wait' })
    await expect.poll(() => here.agent.given).toEqual(['here wait'])
    const fence = here.leases.fence(id)
    await here.host.as(me).clear(id)
    expect(ended).toMatchObject([{ fence }])
    expect(fence).toBeDefined()
    await close()
  })

  it('send a message again whose process died before its agent did anything', async () => {
    const { here, there, id, close } = await twoHosts()
    await here.host.as(me).message({ sessionId: id, text: 'wait' })
    await expect.poll(() => here.agent.given).toEqual(['here wait'])
    await here.host.close()
    await expect.poll(() => there.agent.given).toEqual(['there wait'])
    await there.host.as(me).interrupt(id)
    await close()
  })
})
