import { AskbackError } from '@askback/protocol'
import { expect, it } from 'vitest'
import { Leases } from '../cluster/leases.js'
import { memoryBus } from '../cluster/bus.js'
import { createDesk } from '../desk/desk.js'
import { memoryStore } from '../store/memory-store.js'
import type { Store } from '../store/store.js'
import { fakeClock, type FakeClock } from '../testing/fake-clock.js'
import type { AgentAdapter, AgentEnd } from './agent.js'
import { createHost } from './host.js'

const me = { by: { id: 'me' }, via: 'direct' } as const
const away = () => Promise.reject(new AskbackError('unavailable', 'The store is away.'))

/** An agent that reports nothing and ends when the test says so, or ends each turn at once. */
function silent(endsTurns = false) {
  const sent: string[] = []
  const ends: ((ending: AgentEnd) => void)[] = []
  const adapter: AgentAdapter = {
    id: 'silent',
    name: 'Silent',
    check: async () => ({ available: true }),
    async start(context) {
      let end = (_: AgentEnd) => {}
      const ended = new Promise<AgentEnd>((resolve) => (end = resolve))
      ends.push(end)
      return {
        ended,
        async send({ text, turnId }) {
          sent.push(text)
          if (endsTurns) await context.report({ type: 'turn_ended', turnId, reason: 'done' })
        },
        interrupt: async () => undefined,
        setPermissionMode: async () => undefined,
        stop: async () => end({ how: 'stopped' }),
      }
    },
  }
  return { adapter, sent, ends }
}

function failing(base: Store): { store: Store; failures: { left: number } } {
  const failures = { left: 0 }
  const append: Store['append'] = (given) => (failures.left-- > 0 ? away() : base.append(given))
  return { store: { ...base, append }, failures }
}

const pass = (clock: FakeClock) => {
  const timer = setInterval(() => clock.advance(500))
  return () => clearInterval(timer)
}

it('a turn ends although the loss of its agent could not be written at first', async () => {
  const { store, failures } = failing(memoryStore())
  const clock = fakeClock()
  const { adapter, ends } = silent()
  const host = createHost({
    desk: createDesk({ store, clock }),
    agents: [adapter],
    clock,
    onError: () => undefined,
  })
  await host.ready
  const { id } = (await host.createSession({})).session
  await host.as(me).message({ sessionId: id, text: 'go' })
  await expect.poll(() => ends).toHaveLength(1)
  const stop = pass(clock)
  failures.left = 1
  ends[0]!({ how: 'lost', message: 'Killed.' })
  await expect.poll(async () => (await host.snapshot(id)).state.activeTurnId).toBeNull()
  stop()
  await host.close()
})

it('a turn that a restart interrupted ends although that could not be written at first', async () => {
  const base = memoryStore()
  const { adapter, sent } = silent()
  const before = createHost({
    desk: createDesk({ store: base }),
    agents: [adapter],
    onError: () => undefined,
  })
  await before.ready
  const { id } = (await before.createSession({})).session
  await before.as(me).message({ sessionId: id, text: 'go' })
  await expect.poll(() => sent).toHaveLength(1)
  await before.close()
  const { store, failures } = failing(base)
  failures.left = 1
  const clock = fakeClock()
  const host = createHost({
    desk: createDesk({ store, clock }),
    agents: [adapter],
    clock,
    onError: () => undefined,
  })
  const stop = pass(clock)
  await host.ready
  await expect.poll(async () => (await host.snapshot(id)).state.activeTurnId).toBeNull()
  stop()
  await host.close()
})

it('a message reaches the agent of another process before that process has read the turn', async () => {
  const base: Store = { ...memoryStore(), shared: true }
  const withoutDoorbells: Store = { ...base, onAppend: () => () => undefined }
  const join = memoryBus()
  const clock = fakeClock()
  const onError = () => undefined
  const { adapter, sent } = silent(true)
  const hostOn = (store: Store) => {
    const bus = join()
    const leases = new Leases({ store, bus, clock, onError })
    return createHost({ desk: createDesk({ store, clock }), agents: [adapter], bus, leases, clock, onError })
  }
  const [owner, other] = [hostOn(withoutDoorbells), hostOn(base)]
  await Promise.all([owner.ready, other.ready])
  const { id } = (await owner.createSession({})).session
  await owner.as(me).message({ sessionId: id, text: 'one' })
  await expect.poll(async () => (await base.session(id))?.status).toBe('idle')
  await other.as(me).message({ sessionId: id, text: 'two' })
  await expect.poll(() => sent).toEqual(['one', 'two'])
  await expect.poll(async () => (await other.snapshot(id)).state.activeTurnId).toBeNull()
  await Promise.all([owner.close(), other.close()])
})
