import type { SessionEvent } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { fakeClock } from '../testing/fake-clock.js'
import type { Store } from '../store/store.js'
import { OwnAppend } from './committed.js'
import { SessionCache } from './session-cache.js'
import { testDesk } from './test-desk.test.helper.js'

const sessionIds = ['a', 'b', 'c', 'd', 'e']

function cacheOn(store: Store, memoryBudget: number, published: string[] = []): SessionCache {
  return new SessionCache({
    store,
    memoryBudget,
    clock: fakeClock(),
    advanced: ({ sessionId, head, events }) =>
      published.push(`${sessionId} up to ${head.seq}, ${events.length} events`),
    gone: (sessionId) => published.push(`${sessionId} is gone`),
    hasWaiters: () => false,
    recheckWaiters: () => Promise.resolve(),
    onError: (error) => {
      throw error
    },
  })
}

class TestAppend extends OwnAppend {
  committed(): void {}
  abandoned(): void {}
}

/** A cache on a store with `sessionIds`, and with `s`, which has had three tool calls. */
async function logsWithRoom(room: number) {
  const { desk, store } = await testDesk()
  for (const id of sessionIds) await desk.createSession({ id })
  const calls = ['1', '2', '3'].map(
    (toolCallId) => ({ type: 'tool_call', toolCallId, toolName: 'T', input: {} }) as const,
  )
  await desk.report({ sessionId: 's', events: calls })
  const logs = cacheOn(store, room)
  const inMemory = () => [...sessionIds, 's'].filter((id) => logs.has(id)).join('')
  return { logs, inMemory }
}

describe('the sessions in memory', () => {
  it('are as many as the budget allows', async () => {
    const { logs, inMemory } = await logsWithRoom(5)
    for (const id of sessionIds) await logs.get(id)
    expect(inMemory()).toBe('abcde')
  })

  it('are the recently used ones after an eviction', async () => {
    const { logs, inMemory } = await logsWithRoom(4)
    for (const id of ['a', 'b', 'c', 'd', 'a', 'e']) await logs.get(id)
    expect(inMemory()).toBe('acde')
    await logs.get('b')
    expect(inMemory()).toBe('abde')
  })

  it('are fewer if one of them is large', async () => {
    const { logs, inMemory } = await logsWithRoom(43)
    for (const id of [...sessionIds, 's']) await logs.get(id)
    expect(inMemory()).toBe('des')
  })

  it('cause evictions as they grow', async () => {
    const { logs, inMemory } = await logsWithRoom(5)
    for (const id of sessionIds) await logs.get(id)
    const log = await logs.get('e')
    const { sessionId, seq } = log.state
    const call = { type: 'tool_call' as const, toolCallId: 't', toolName: 'T', input: {} }
    await log.append(new TestAppend([{ seq: seq + 1, id: 'x', sessionId, at: 0, ...call }]), {})
    await logs.get('e')
    expect(inMemory()).toBe('e')
  })

  it('are fewer if their events are large', async () => {
    const { logs, inMemory } = await logsWithRoom(60)
    for (const id of sessionIds) await logs.get(id)
    const log = await logs.get('e')
    for (let count = 0; count < 100; count++) {
      const { sessionId, seq } = log.state
      const said = { seq: seq + 1, id: `x${count}`, sessionId, at: 0, type: 'user_message' as const }
      const events: SessionEvent[] = [{ ...said, text: 'x'.repeat(20_000), by: { id: 'ada' } }]
      // As a store does that stores text.
      const append = new TestAppend(events)
      append.texts()
      await log.append(append, {})
    }
    await logs.get('e')
    expect(inMemory()).toBe('e')
  })

  it('are the latest ones: a session that was used once does not stay for ever', async () => {
    const { desk, store } = await testDesk()
    const names = Array.from({ length: 60 }, (_, index) => `session-${index}`)
    for (const id of names) await desk.createSession({ id })
    const logs = cacheOn(store, 10)
    const [early, late] = [names.slice(0, 10), names.slice(10)]
    for (const id of [...early, ...early.slice(0, 8), ...late]) await logs.get(id)
    const left = names.filter((id) => logs.has(id))
    expect(left).toHaveLength(10)
    expect(left.filter((id) => early.includes(id))).toEqual([])
  })

  it('are not evicted while they are held', async () => {
    const { logs, inMemory } = await logsWithRoom(1)
    const letGo = logs.hold('a')
    for (const id of ['a', 'b', 'c']) await logs.get(id)
    expect(inMemory()).toBe('ac')
    letGo()
    expect(inMemory()).toHaveLength(1)
  })

  it('free their weight when they are dropped', async () => {
    const { logs, inMemory } = await logsWithRoom(2)
    for (const id of ['a', 'b']) await logs.get(id)
    logs.forget('a')
    await logs.get('c')
    expect(inMemory()).toBe('bc')
  })

  it('publish each event once, also if a session is evicted and loaded again while its log is read', async () => {
    const { desk, store } = await testDesk()
    await desk.createSession({ id: 'a' })
    let release = () => {}
    const gate = new Promise<void>((resolve) => (release = resolve))
    let isSlow = false
    const published: string[] = []
    const slow: Store = {
      ...store,
      shared: true,
      async read(query) {
        const page = await store.read(query)
        if (isSlow && query.sessionId === 's') await gate
        return page
      },
    }
    const logs = cacheOn(slow, 1, published)
    const { seq } = (await logs.get('s')).state
    await desk.report({ sessionId: 's', events: [{ type: 'turn_started', turnId: 't' }] })
    isSlow = true
    const reading = logs.refresh('s')
    await logs.get('a')
    expect(logs.has('s')).toBe(false)
    isSlow = false
    const again = logs.get('s')
    await new Promise((resolve) => setImmediate(resolve))
    release()
    await Promise.all([reading, again])
    expect(published.filter((text) => text.startsWith('s'))).toEqual([
      `s up to ${seq}, 0 events`,
      `s up to ${seq + 2}, 2 events`,
    ])
  })

  it('publish an erasure when they are dropped after it', async () => {
    const { store } = await testDesk()
    const published: string[] = []
    const logs = cacheOn(store, 10, published)
    await logs.get('s')
    await store.erase('s')
    logs.forget('s')
    await logs.refresh('s')
    expect(published).toEqual(['s is gone'])
    expect(logs.has('s')).toBe(false)
  })

  it('reach only as far as their own log, even if an earlier log was longer', async () => {
    const { desk, store } = await testDesk()
    await desk.report({ sessionId: 's', events: [{ type: 'turn_started', turnId: 't' }] })
    const logs = cacheOn(store, 10)
    const { seq, logId } = (await logs.get('s')).state
    expect(logs.reaches('s', { logId, seq })).toBe(true)
    expect(logs.reaches('s', { logId, seq: seq + 1 })).toBe(false)
    expect(logs.reaches('s', { logId: 'another', seq: 1 })).toBe(false)
  })
})
