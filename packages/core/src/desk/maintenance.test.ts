import { describe, expect, it } from 'vitest'
import { memoryStore } from '../store/memory-store.js'
import type { Store } from '../store/store.js'
import { database, isOver, testDesk, tick, waiting } from './test-desk.test.helper.js'

const DAY = 24 * 3_600_000

/** A store in which calls of that method fail while `isFailing` returns true. */
function failing(inner: Store, name: 'deadlines' | 'sessions' | 'head') {
  const fails = { isFailing: false }
  const call = inner[name] as (...args: unknown[]) => Promise<unknown>
  const store: Store = {
    ...inner,
    [name]: (...args: unknown[]) =>
      fails.isFailing ? Promise.reject(new Error('Connection reset.')) : call(...args),
  }
  return { store, fails }
}

describe('a start that fails', () => {
  it.each(['deadlines', 'sessions', 'head'] as const)('is retried until it succeeds: %s', async (name) => {
    const inner = memoryStore()
    const { store, fails } = failing({ ...inner, ...(name === 'head' && { shared: true }) }, name)
    const test = await testDesk({ store, retentionMs: DAY })
    await test.desk.createSession({ id: 'old' })
    const { interactionId } = await test.open('question', database, { timeoutMs: 60_000 })
    fails.isFailing = true
    const desk = test.restart()
    expect(await isOver(desk.ready)).toBe(false)
    test.clock.advance(1000)
    await tick()
    expect(await isOver(desk.ready)).toBe(false)
    fails.isFailing = false
    test.clock.advance(1000)
    await desk.ready
    const { settlement } = await waiting(desk, interactionId)
    test.clock.advance(60_000)
    expect(await settlement).toMatchObject({ settlement: 'timed_out' })
    for (let hour = 0; hour < 30; hour++) {
      test.clock.advance(3_600_000)
      await tick()
    }
    expect(await inner.countSessions()).toBe(0)
    expect(test.errors).toEqual([expect.anything(), expect.anything()])
  })
})

describe('retention', () => {
  it('skips a session that cannot be read, and reports it', async () => {
    const inner = memoryStore()
    const store: Store = {
      ...inner,
      read: (query) =>
        query.sessionId === 'bad' ? Promise.reject(new Error('It is damaged.')) : inner.read(query),
    }
    const test = await testDesk({ store: inner })
    for (const id of ['older', 'bad', 'newer']) await test.desk.createSession({ id })
    test.clock.advance(DAY + 1)
    const desk = test.restart({ store, retentionMs: DAY })
    await desk.ready
    expect((await inner.sessions({ limit: 10 })).items.map(({ id }) => id)).toEqual(['bad'])
    expect(test.errors).toEqual([new Error('It is damaged.')])
  })
})
