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

/** Two hosts on one store, as two gateways on one database, with an agent that says what it was told. */
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
  host.message({ sessionId, text, route: 'agent', ...me })

describe('two hosts on one store', () => {
  it('[L10] scripts of an agent that was taken over ask nothing, and get no answer', async () => {
    const { here, there, shared } = await twoHosts()
    const { session } = await here.host.createSession({ agent: 'echo' })
    await say(here.host, session.id, 'start')
    await expect.poll(() => here.host.fenceOf(session.id)).toBeDefined()
    const ask = () => {
      const fence = here.host.fenceOf(session.id)!
      return here.host.desk.open({ sessionId: session.id, kind: 'question', request: question, fence })
    }
    const { interactionId } = (await ask()).interaction
    const signal = new AbortController().signal
    const fence = here.host.fenceOf(session.id)
    const waits = here.host.desk.poll(session.id, interactionId, { to: 'script', signal, fence })
    const waited = waits.catch((error: unknown) => error)
    const entry = await shared.kv.get(`lease/${session.id}`)
    await shared.kv.put(entry!.key, { gateway: there.leases.id }, entry!.version)
    await expect(ask()).rejects.toMatchObject({ code: 'forbidden' })
    const answer = { answers: [{ selected: ['Yes'] }] }
    await there.host.desk.respond({ ...me, interactionId, answer })
    expect(await waited).toMatchObject({ code: 'forbidden' })
    here.leases.forget(session.id)
    await expect(ask()).rejects.toMatchObject({ code: 'forbidden' })
  })

  it('run the agent of a session in one of them, wherever messages come in', async () => {
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

  it('end a turn that nobody took: its host died before it said that it would', async () => {
    const { here, there, shared, pass } = await twoHosts()
    const { session } = await here.host.createSession({})
    await here.host.desk.message({ sessionId: session.id, text: 'lost', route: 'agent', ...me })
    await pass(LEASE_MS)
    await here.host.close()
    await there.leases.wake()
    await expect
      .poll(async () => (await shared.read({ sessionId: session.id, limit: 100 })).map((event) => event.type))
      .toContain('turn_ended')
  })
})
