import { describe, expect, it } from 'vitest'
import type { AdoptedItem, SessionEvent } from '@askback/protocol'
import { memoryStore } from '../store/memory-store.js'
import type { Store } from '../store/store.js'
import type { SharedClock } from '../store/store-clock.js'
import { countingIds, fakeClock } from '../testing/fake-clock.js'
import { createDesk } from './desk.js'
import { ada, database, isOver, sqlite, testDesk, tick, waiting } from './test-desk.test.helper.js'

const MINUTE = 60_000

const timesOf = (events: SessionEvent[]) => events.map(({ at }) => at)
const ascending = (times: number[]) => times.toSorted((one, other) => one - other)

describe('`at` never decreases in a log', () => {
  it('when the clock is set back: a log’s time stands still until the clock has caught up', async () => {
    const { desk, clock, open, events } = await testDesk()
    const before = clock.now()
    clock.jump(-5 * MINUTE)
    const { interactionId, requestedAt, expiresAt } = await open('question', database, { timeoutMs: MINUTE })
    expect({ requestedAt, expiresAt }).toEqual({ requestedAt: before, expiresAt: before + MINUTE })
    await desk.as(ada).respond({ interactionId, answer: sqlite })
    expect(new Set(timesOf(await events()))).toEqual(new Set([before]))
    clock.advance(6 * MINUTE)
    await open('question', database)
    expect((await events()).at(-1)!.at).toBe(clock.now())
  })

  it('by more than a day, too; then deadlines follow the clock, because those of the log would never come', async () => {
    const { desk, clock, open, events } = await testDesk()
    const before = clock.now()
    clock.jump(-365 * 24 * 60 * MINUTE)
    const { interactionId, requestedAt } = await open('question', database, { timeoutMs: MINUTE })
    expect(requestedAt).toBe(clock.now())
    const { settlement } = await waiting(desk, interactionId)
    clock.advance(MINUTE)
    expect(await settlement).toMatchObject({ settlement: 'timed_out' })
    expect(new Set(timesOf(await events()))).toEqual(new Set([before]))
  })

  it('[L4] an interaction that is past its deadline by the log has expired, although the clock is behind', async () => {
    const { desk, clock, open, events } = await testDesk()
    const { interactionId, expiresAt } = await open('question', database, { timeoutMs: MINUTE })
    clock.jump(2 * MINUTE)
    await desk.as(ada).message({ sessionId: 's', text: 'later', route: 'agent' })
    clock.jump(-2 * MINUTE)
    const late = desk.as(ada).respond({ interactionId, answer: sqlite })
    await expect(late).rejects.toMatchObject({ code: 'already_settled' })
    const response = (await events()).find(({ type }) => type === 'interaction_response')
    expect(response).toMatchObject({ settlement: 'timed_out' })
    expect(response!.at).toBeGreaterThanOrEqual(expiresAt!)
  })

  it.each([5, 400])('also after a restart, of a session with %d messages', async (count) => {
    const test = await testDesk()
    for (let number = 0; number < count; number++)
      await test.desk.as(ada).message({ sessionId: 's', text: `${number}` })
    await tick()
    expect(await test.store.loadSnapshot('s')).toEqual(count > 250 ? expect.anything() : null)
    const before = test.clock.now()
    test.clock.jump(-5 * MINUTE)
    await test.restart().as(ada).message({ sessionId: 's', text: 'after it' })
    expect((await test.events()).at(-1)!.at).toBe(before)
  })

  it('also with a snapshot from before snapshots had that time', async () => {
    const test = await testDesk()
    for (let number = 0; number < 400; number++)
      await test.desk.as(ada).message({ sessionId: 's', text: `${number}` })
    await tick()
    const snapshot = (await test.store.loadSnapshot('s'))!
    const { headAt, ...state } = snapshot.state as Record<string, never>
    expect(headAt).toBe(test.clock.now())
    const store: Store = { ...test.store, loadSnapshot: () => Promise.resolve({ ...snapshot, state }) }
    test.clock.jump(-5 * MINUTE)
    await test.restart({ store }).as(ada).message({ sessionId: 's', text: 'after it' })
    expect((await test.events()).at(-1)!.at).toBe(test.clock.now() + 5 * MINUTE)
  })

  it('if two desks with different clocks write to it', async () => {
    const store: Store = { ...memoryStore(), shared: true }
    const clock = fakeClock()
    const desks = [-90, 90, 0].map((ahead) =>
      createDesk({
        store,
        clock: {
          now: () => clock.now() + ahead * 1000,
          alarm: (at, wake) => clock.alarm(at - ahead * 1000, wake),
        },
        newId: countingIds(`${ahead}.`),
      }),
    )
    await desks[0]!.createSession({ id: 's' })
    for (let round = 0; round < 6; round++) {
      clock.advance(1000)
      await Promise.all(
        desks.map((desk) => desk.as(ada).message({ sessionId: 's', text: `in round ${round}` })),
      )
    }
    const times = timesOf(await store.read({ sessionId: 's', limit: 1000 }))
    expect(times.length).toBeGreaterThan(18)
    expect(times).toEqual(ascending(times))
    for (const desk of desks) desk.close()
  })

  it('in an adopted history: an item with an earlier time than the one before it gets that time', async () => {
    const { desk, store, clock } = await testDesk()
    const start = clock.now()
    clock.advance(10 * MINUTE)
    const items = [3, 1, 4, 1, 5].map<AdoptedItem>((at) => ({
      type: 'user_message',
      at: start + at * MINUTE,
      text: `dated ${at}`,
    }))
    await desk.as({ by: ada.by }).adopt({ agent: 'codex', agentSessionId: 'thread', items })
    const log = await store.read({ sessionId: 'codex.thread', limit: 100 })
    const minutes = log.filter(({ type }) => type === 'user_message').map(({ at }) => (at - start) / MINUTE)
    expect(minutes).toEqual([3, 3, 4, 4, 5])
    expect(timesOf(log)).toEqual(ascending(timesOf(log)))
    expect(log.at(-1)).toMatchObject({ type: 'agent_session', at: clock.now() })
  })
})

describe('on a store that has a clock', () => {
  async function sharedStore() {
    const time = fakeClock()
    const clock: SharedClock = {
      ...time,
      skewMs: 0,
      errorMs: 0,
      onMeasured: () => () => undefined,
    }
    const store: Store = { ...memoryStore(), shared: true, clock }
    const desk = createDesk({ store })
    await desk.createSession({ id: 's' })
    return { time, store, desk }
  }

  it('[L5] sets and enforces deadlines by that clock, and returns its time', async () => {
    const { time, store, desk } = await sharedStore()
    const { interaction } = await desk.open({
      sessionId: 's',
      kind: 'question',
      request: database,
      timeoutMs: MINUTE,
    })
    expect(interaction).toMatchObject({ requestedAt: time.now(), expiresAt: time.now() + MINUTE })
    expect(await desk.snapshot('s')).toMatchObject({ now: time.now() })
    const { settlement } = await waiting(desk, interaction.interactionId)
    time.advance(MINUTE - 1)
    expect(await isOver(settlement)).toBe(false)
    time.advance(1)
    expect(await settlement).toMatchObject({ settlement: 'timed_out' })
    expect((await store.read({ sessionId: 's', limit: 100 })).at(-1)!.at).toBe(time.now())
    desk.close()
  })

  it('uses another clock if it is given one', async () => {
    const { store, desk } = await sharedStore()
    const clock = fakeClock(1000)
    const other = createDesk({ store, clock })
    expect((await other.snapshot('s')).now).toBe(1000)
    other.close()
    desk.close()
  })
})
