import { describe, expect, it } from 'vitest'
import {
  createDesk,
  createHost,
  Leases,
  memoryBus,
  memoryStore,
  storeOnBus,
  type AgentAdapter,
  type Host,
  type Store,
} from '../index.js'
import { fakeClock } from '../testing/fake-clock.js'

const LEASE_MS = 10_000
const me = { by: { id: 'me' }, via: 'direct' } as const

/** Two hosts on one store, as two gateways on one database, with an agent that repeats its messages. */
async function twoHosts() {
  const shared: Store = { ...memoryStore(), shared: true }
  const clock = fakeClock()
  const join = memoryBus()
  const errors: unknown[] = []
  const onError = (error: unknown) => errors.push(error)
  const make = async (name: string) => {
    const bus = join()
    const store = storeOnBus(shared, bus)
    const leases = new Leases({ store, bus, clock, leaseMs: LEASE_MS, onError })
    const desk = createDesk({ store, clock, onError })
    const host = createHost({ desk, agents: [echo(name)], bus, leases, onError })
    await host.ready
    return { host, leases }
  }
  const [here, there] = [await make('here'), await make('there')]
  const said = async (sessionId: string) =>
    (await shared.read({ sessionId, limit: 1000 })).flatMap((event) =>
      event.type === 'text' ? [event.text] : [],
    )
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 500) {
      clock.advance(500)
      await Promise.all([here.leases.settled(), there.leases.settled()])
    }
  }
  return { here, there, shared, said, pass, errors }
}

function echo(name: string): AgentAdapter {
  return {
    id: 'echo',
    name: 'Echo',
    check: async () => ({ available: true }),
    async start(context) {
      let end: (ending: { how: 'stopped' }) => void = () => undefined
      const ended = new Promise<{ how: 'stopped' }>((resolve) => (end = resolve))
      return {
        ended,
        send: ({ text, turnId }) =>
          context.report(
            { type: 'text', blockId: `${turnId} ${text}`, text: `${name}: ${text}`, turnId },
            { type: 'turn_ended', turnId, reason: 'done' },
          ),
        interrupt: async () => undefined,
        setPermissionMode: async () => undefined,
        stop: async () => end({ how: 'stopped' }),
      }
    },
  }
}

const question = {
  questions: [{ header: 'h', question: 'Go on?', options: [{ label: 'Yes' }], multiSelect: false }],
}

const say = (host: Host, sessionId: string, text: string) =>
  host.as(me).message({ sessionId, text, route: 'agent' })

describe('two hosts on one store', () => {
  it('[L10] scripts of an agent whose session was taken over can neither ask nor get an answer', async () => {
    const { here, there, shared } = await twoHosts()
    const { session } = await here.host.createSession({ agent: 'echo' })
    await say(here.host, session.id, 'start')
    await expect.poll(() => here.host.fenceOf(session.id)).toBeDefined()
    const ask = () => {
      const fence = here.host.fenceOf(session.id)!
      return here.host.desk.as({ fence }).open({ sessionId: session.id, kind: 'question', request: question })
    }
    const { interactionId } = (await ask()).interaction
    const signal = new AbortController().signal
    const fence = here.host.fenceOf(session.id)
    const waits = here.host.desk
      .as({ id: 'script', fence })
      .wait(interactionId, { sessionId: session.id, until: signal })
    const waited = waits.catch((error: unknown) => error)
    const entry = await shared.kv.get(`lease/${session.id}`)
    await shared.kv.put(entry!.key, { gateway: there.leases.id }, entry!.version)
    await expect(ask()).rejects.toMatchObject({ code: 'forbidden' })
    const answer = { answers: [{ selected: ['Yes'] }] }
    await there.host.desk.as(me).respond({ interactionId, answer })
    expect(await waited).toMatchObject({ code: 'forbidden' })
    here.leases.forget(session.id)
    await expect(ask()).rejects.toMatchObject({ code: 'forbidden' })
  })

  it('run the agent of a session in one of them, whichever gets the messages', async () => {
    const { here, there, said, errors } = await twoHosts()
    const { session } = await here.host.createSession({})
    await say(here.host, session.id, 'one')
    await expect.poll(() => said(session.id)).toEqual(['here: one'])
    await say(there.host, session.id, 'two')
    await expect.poll(() => said(session.id)).toEqual(['here: one', 'here: two'])
    await here.host.close()
    await say(there.host, session.id, 'three')
    await expect.poll(() => said(session.id)).toEqual(['here: one', 'here: two', 'there: three'])
    expect(errors).toEqual([])
  })

  it('end a turn without an owner: its host died before it acquired the lease', async () => {
    const { here, there, shared, pass } = await twoHosts()
    const { session } = await here.host.createSession({})
    await here.host.desk.as(me).message({ sessionId: session.id, text: 'lost', route: 'agent' })
    await pass(LEASE_MS)
    await here.host.close()
    await there.leases.wake()
    await expect
      .poll(async () => (await shared.read({ sessionId: session.id, limit: 100 })).map((event) => event.type))
      .toContain('turn_ended')
  })
})

it('[L10] an answer on another host starts a lost agent, although its session is not in memory', async () => {
  const base = memoryStore()
  const shared: Store = { ...base, shared: true }
  const question = {
    questions: [{ header: 'Go', question: 'Go?', options: [{ label: 'Yes' }], multiSelect: false }],
  }
  const resumed: unknown[] = []
  let lose = () => {}
  const asking: AgentAdapter = {
    id: 'asking',
    name: 'Asking',
    check: async () => ({ available: true }),
    async start(context) {
      if (context.resume) resumed.push(context.resume.turnId)
      const ended = new Promise<{ how: 'lost'; message: string }>(
        (resolve) => (lose = () => resolve({ how: 'lost', message: 'Killed.' })),
      )
      return {
        ended,
        async send({ turnId }) {
          await context.report({ type: 'tool_call', toolCallId: 'c', toolName: 'Ask', input: {}, turnId })
          context.session.ask({ ...question, toolCallId: 'c' }).catch(() => undefined)
        },
        interrupt: async () => undefined,
        setPermissionMode: async () => undefined,
        stop: async () => undefined,
      }
    },
  }
  const clock = fakeClock()
  const onError = () => undefined
  const bus = memoryBus()
  const ownBus = bus()
  const store = storeOnBus(shared, ownBus)
  const leases = new Leases({ store, bus: ownBus, clock, leaseMs: LEASE_MS, onError })
  const desk = createDesk({ store, clock, onError, limits: { inMemory: 1 } })
  const host = createHost({ desk, agents: [asking], bus: ownBus, leases, clock, onError })
  await host.ready
  const other = createDesk({ store: storeOnBus(shared, bus()), clock, onError })
  const { id } = (await host.createSession({})).session
  await host.as(me).message({ sessionId: id, text: 'go' })
  await expect.poll(() => base.countPending()).toBe(1)
  lose()
  const lost = async () =>
    (await base.read({ sessionId: id, limit: 100 })).some(({ type }) => type === 'error')
  await expect.poll(lost).toBe(true)
  // Evicts the session from memory.
  for (let count = 0; count < 3; count++) await desk.createSession({ id: `other-${count}` })
  const [item] = (await base.pending({ limit: 1 })).items
  const answer = { answers: [{ selected: ['Yes'] }] }
  await other.as(me).respond({ interactionId: item!.interactionId, answer })
  await expect.poll(() => resumed).toHaveLength(1)
  other.close()
  await host.close()
})

/** One host on a shared store, whose agent takes `ms` for each message. */
async function hostOn(shared: Store, { ms = 0 } = {}) {
  const clock = fakeClock()
  const errors: unknown[] = []
  const onError = (error: unknown) => errors.push(error)
  const bus = memoryBus()()
  const store = storeOnBus(shared, bus)
  const leases = new Leases({ store, bus, clock, leaseMs: LEASE_MS, onError })
  const desk = createDesk({ store, clock, onError })
  const inner = echo('here')
  const slow: AgentAdapter = {
    ...inner,
    async start(context, signal) {
      const agent = await inner.start(context, signal)
      return {
        ...agent,
        async send(message) {
          await new Promise((resolve) => setTimeout(resolve, ms))
          await agent.send(message)
        },
      }
    },
  }
  const host = createHost({ desk, agents: [slow], bus, leases, clock, onError })
  const said = async (sessionId: string) =>
    (await shared.read({ sessionId, limit: 1000 })).flatMap((event) =>
      event.type === 'text' ? [event.text] : [],
    )
  return { host, leases, clock, errors, said }
}

describe('one host on a shared store', () => {
  it('runs a message that arrives while the lease of its session is being released', async () => {
    const base = memoryStore()
    const put: Store['kv']['put'] = async (key, value, expected, act) => {
      // A write takes longer than a read, as on any database.
      if (value === null) await new Promise((resolve) => setTimeout(resolve, 5))
      return base.kv.put(key, value, expected, act)
    }
    const { host, leases, said } = await hostOn(
      { ...base, shared: true, kv: { ...base.kv, put } },
      { ms: 20 },
    )
    await host.ready
    const { id } = (await host.createSession({})).session
    await host.as(me).message({ sessionId: id, text: 'one', route: 'agent' })
    await expect.poll(() => said(id)).toEqual(['here: one'])
    const clearing = host.as(me).clear(id)
    while (leases.fence(id)) await Promise.resolve()
    await host.as(me).message({ sessionId: id, text: 'two', route: 'agent' })
    await clearing
    await expect.poll(() => said(id)).toEqual(['here: one', 'here: two'])
    await expect.poll(async () => (await host.snapshot(id)).state.activeTurnId).toBeNull()
    await host.close()
  })

  it.each(['head', 'deadlines', 'sessions', 'kv.put', 'kv.list'] as const)(
    'becomes ready although the first call of %s fails',
    async (name) => {
      const base = memoryStore()
      let failures = 1
      const failing =
        <Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) =>
        (...args: Args) =>
          failures-- > 0 ? Promise.reject<Result>(new Error('away')) : call(...args)
      const shared: Store = { ...base, shared: true }
      if (name === 'kv.put')
        shared.kv = {
          ...base.kv,
          put: failing((...put: Parameters<Store['kv']['put']>) => base.kv.put(...put)),
        }
      else if (name === 'kv.list')
        shared.kv = { ...base.kv, list: failing((prefix: string) => base.kv.list(prefix)) }
      else Object.assign(shared, { [name]: failing(base[name] as () => Promise<unknown>) })
      const { host, clock, errors, said } = await hostOn(shared)
      const pass = setInterval(() => clock.advance(500))
      await host.ready
      const { id } = (await host.createSession({})).session
      await host.as(me).message({ sessionId: id, text: 'one', route: 'agent' })
      await expect.poll(() => said(id)).toEqual(['here: one'])
      clearInterval(pass)
      expect(errors).toHaveLength(1)
      await host.close()
    },
  )
})
