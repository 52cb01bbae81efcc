import type { SessionEvent } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import type { Change, Store } from '../store/store.js'
import { fakeClock } from '../testing/fake-clock.js'
import { memoryStore } from '../store/memory-store.js'
import { AllSessions } from './listeners.js'
import { createDesk } from './desk.js'
import { tick } from './test-desk.test.helper.js'

/** A shared store whose changes and last cursor are set by the test. */
function allSessions() {
  const rows: Change[] = []
  const heads: (() => void)[] = []
  let pageSize = Infinity
  let failures = 0
  const store = {
    shared: true,
    head: () => new Promise<string>((resolve) => heads.push(() => resolve(String(rows.length)))),
    changes: ({ after }: { after: string }) => {
      if (failures-- > 0) return Promise.reject(new Error('away'))
      return Promise.resolve(rows.slice(Number(after), Number(after) + pageSize))
    },
  } as unknown as Store
  const clock = fakeClock()
  const errors: unknown[] = []
  const all = new AllSessions({
    store,
    clock,
    on: () => () => undefined,
    onError: (error) => errors.push(error),
  })
  const follower = () => {
    const seen: string[] = []
    const following = all.follow((events) => seen.push(...events.map(({ id }) => id)))
    return { seen, following }
  }
  const append = (id: string) =>
    rows.push({ cursor: String(rows.length + 1), sessionId: 's', events: [{ id } as SessionEvent] })
  const erase = (sessionId: string) => rows.push({ cursor: String(rows.length + 1), sessionId, events: [] })
  return {
    all,
    clock,
    errors,
    heads,
    append,
    erase,
    follower,
    page: (size: number) => (pageSize = size),
    fail: (times: number) => (failures = times),
  }
}

describe('the events of all sessions on a shared store', () => {
  it('reach both of two followers that start at the same time', async () => {
    const { all, append, follower, heads } = allSessions()
    append('before')
    const [one, other] = [follower(), follower()]
    expect(heads).toHaveLength(1)
    heads[0]!()
    await one.following
    append('between')
    await other.following
    all.hint()
    await tick()
    expect(one.seen).toEqual(['between'])
    expect(other.seen).toEqual(['between'])
  })

  it('are read to the end, although a page is short', async () => {
    const { all, append, follower, heads, page } = allSessions()
    const one = follower()
    heads[0]!()
    await one.following
    for (const id of ['a', 'b', 'c']) append(id)
    page(1)
    all.hint()
    await tick()
    expect(one.seen).toEqual(['a', 'b', 'c'])
  })

  it('are read again from the same cursor after the store failed', async () => {
    const { all, append, clock, errors, fail, follower, heads } = allSessions()
    const one = follower()
    heads[0]!()
    await one.following
    append('a')
    fail(1)
    all.hint()
    await tick()
    expect(one.seen).toEqual([])
    clock.advance(1000)
    await tick()
    expect(one.seen).toEqual(['a'])
    expect(errors).toHaveLength(1)
  })

  it('include the erasure of a session, in order', async () => {
    const { all, append, erase, heads } = allSessions()
    const seen: string[] = []
    const following = all.follow(
      (events) => seen.push(...events.map(({ id }) => id)),
      (sessionId) => seen.push(`${sessionId} is gone`),
    )
    heads[0]!()
    await following
    append('a')
    erase('s')
    append('b')
    all.hint()
    await tick()
    expect(seen).toEqual(['a', 's is gone', 'b'])
  })

  it('start again at the end for followers that start after all others have stopped', async () => {
    const { all, append, follower, heads } = allSessions()
    const one = follower()
    heads[0]!()
    const stop = await one.following
    stop()
    append('unseen')
    const two = follower()
    heads[1]!()
    await two.following
    append('seen')
    all.hint()
    await tick()
    expect(one.seen).toEqual([])
    expect(two.seen).toEqual(['seen'])
  })

  it('include the erasure of a session also if only this process writes', async () => {
    const desk = createDesk({ store: memoryStore(), clock: fakeClock() })
    await desk.createSession({ id: 's' })
    const received: string[] = []
    const stop = await desk.followAll(
      (events) => received.push(...events.map(({ type }) => type)),
      (sessionId) => received.push(`${sessionId} is gone`),
    )
    await desk.deleteSession('s')
    expect(received).toEqual(['session_status', 's is gone'])
    stop()
    desk.close()
  })

  it('are delivered although no doorbell came before the first poll of the desk', async () => {
    const base = memoryStore()
    const heads: (() => void)[] = []
    const store: Store = {
      ...base,
      shared: true,
      onAppend: () => () => undefined,
      head: () =>
        new Promise((resolve) => {
          heads.push(() => void base.head().then(resolve))
        }),
    }
    const desk = createDesk({ store, clock: fakeClock() })
    const received: string[] = []
    const following = desk.followAll((events) => received.push(...events.map(({ type }) => type)))
    await tick()
    // The follower reads the end of the changes before the append, the desk itself after it.
    heads[1]!()
    const stop = await following
    const other = createDesk({ store: base })
    await other.createSession({ id: 's' })
    heads[0]!()
    await desk.ready
    await expect.poll(() => received).toEqual(['session_started'])
    stop()
    desk.close()
    other.close()
  })
})
