import {
  createDesk,
  memoryStore,
  type Desk,
  type Host,
  type ChangeNotice,
  type AppendNotice,
  type Store,
} from '@askback/core'
import { fakeClock } from '@askback/core/testing'
import { AskbackError } from '@askback/protocol'
import { describe, expect, it, onTestFinished } from 'vitest'
import { FakeSocket } from './fake-socket.test.helper.js'
import { Feeds, isInLog } from './feed.js'
import { type Encoding, PageCache } from './pages.js'

const ids: Encoding = {
  events: (events) => Buffer.from(events.map((event) => `${event.seq}:${event.id} `).join('')),
  live: (_sessionId, event) => Buffer.from(`${event.type} `),
  resync: () => Buffer.from('resync '),
}
const ada = { by: { id: 'ada' }, via: 'web' } as const
/** Turns of the event loop, and not time, which passes on a busy machine while nothing runs. */
const tick = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** A gateway on a shared store. The test rings its doorbell, unless `rings` is set. */
function gateway(base: Store, prefix: string, changes: Partial<Store> = {}, rings = false) {
  const clock = fakeClock()
  const listeners = new Set<(notice: AppendNotice) => void>()
  const errors: unknown[] = []
  const byHand: Store['onAppend'] = (listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
  const store: Store = {
    ...base,
    shared: true,
    ...changes,
    onAppend: rings ? (listener) => base.onAppend(listener) : byHand,
  }
  const onError = (error: unknown) => errors.push(error)
  let count = 0
  const newId = () => `${prefix}${++count}`
  const desk = createDesk({ store, clock, newId, onError, repairMs: 5000 })
  onTestFinished(() => desk.close())
  const host = { desk, liveBlocks: () => [], onLive: () => () => undefined } as unknown as Host
  const cache = new PageCache(1e6)
  const feeds = new Feeds({ host, store, encoding: ids, cache, bufferBytes: Infinity, onError })
  const read = async (sessionId: string, cursor: number) => {
    const feed = feeds.acquire(sessionId)
    expect(await isInLog(feed, cursor, undefined)).toBe(true)
    const socket = new FakeSocket()
    const reader = { socket, finished: false }
    feed.add({ socket: socket.socket, cursor, finish: () => void (reader.finished = true) })
    await tick()
    return reader
  }
  /** Lets the slow poll run several times. */
  const repair = async () => {
    for (let looks = 0; looks < 4; looks++) {
      clock.advance(5000)
      await tick()
    }
  }
  const ring = (eventId: string) => {
    for (const listener of listeners) listener({ sessionId: 's', eventId })
  }
  return { desk, store, errors, read, repair, ring }
}

const logOf = (base: Store) => base.read({ sessionId: 's', limit: 100 })
const say = (desk: Desk, text: string, idempotencyKey?: string) =>
  desk.as(ada).message({ sessionId: 's', text, route: 'agent', idempotencyKey })
const sent = ({ socket }: { socket: FakeSocket }) => socket.written.split(' ').filter(Boolean)
const wire = (events: { seq: number; id: string }[]) => events.map(({ seq, id }) => `${seq}:${id}`)

/** Two gateways, and a session that was created at the first one. */
async function twoGateways(changes: Partial<Store> | ((base: Store) => Partial<Store>) = {}) {
  const base = memoryStore()
  const there = gateway(base, 'a')
  const here = gateway(base, 'b', typeof changes === 'function' ? changes(base) : changes)
  await Promise.all([there.desk.ready, here.desk.ready])
  await there.desk.createSession({ id: 's' })
  await here.desk.snapshot('s')
  return { base, there, here }
}

/** Like PostgreSQL: an erasure is a row, and the appends of the erased log are hidden. */
function withErasures() {
  const rows: ChangeNotice[] = []
  const changedSessions: Store['changedSessions'] = ({ after }) =>
    Promise.resolve(rows.filter(({ cursor }) => Number(cursor) > Number(after)))
  return { rows, store: { head: () => Promise.resolve('0'), changedSessions } satisfies Partial<Store> }
}

describe('a stream on a store that other gateways write to', () => {
  it('gets what was committed elsewhere, even if the session was loaded before the doorbell', async () => {
    const { base, there, here } = await twoGateways()
    const before = await logOf(base)
    const reader = await here.read('s', before.length)
    await say(there.desk, 'hello')
    await here.desk.snapshot('s')
    here.ring('late')
    await tick()
    expect(sent(reader)).toEqual(wire((await logOf(base)).slice(before.length)))
  })

  it('gets it even if the doorbell was lost, after the next poll', async () => {
    const { base, there, here } = await twoGateways()
    const before = await logOf(base)
    const reader = await here.read('s', before.length)
    await say(there.desk, 'hello')
    await here.repair()
    expect(sent(reader)).toEqual(wire((await logOf(base)).slice(before.length)))
  })

  it('continues when a refusal meets an append that conflicts', async () => {
    const { base, there, here } = await twoGateways()
    const reader = await here.read('s', 1)
    await say(there.desk, 'from there')
    const refused = here.desk
      .as(ada)
      .respond({ sessionId: 's', interactionId: 'nope', answer: {} })
      .catch((error: unknown) => error)
    await Promise.all([say(here.desk, 'from here'), refused])
    await tick()
    expect(reader.finished).toBe(false)
    expect(sent(reader)).toEqual(wire((await logOf(base)).slice(1)))
  })

  it('continues when a refusal meets an append that the store refuses', async () => {
    let isAway = false
    const { here } = await twoGateways((base) => ({
      append: (append) =>
        isAway ? Promise.reject(new AskbackError('unavailable', 'Away.')) : base.append(append),
    }))
    const reader = await here.read('s', 1)
    isAway = true
    const refused = here.desk.as(ada).respond({ sessionId: 's', interactionId: 'nope', answer: {} })
    await Promise.allSettled([refused, say(here.desk, 'from here')])
    await tick()
    expect(reader.finished).toBe(false)
    expect(sent(reader)).toEqual([])
  })

  it('continues when several appends conflict', async () => {
    let isSlow = false
    const { base, there, here } = await twoGateways((inner) => ({
      append: async (append) => {
        if (isSlow) await tick()
        return inner.append(append)
      },
    }))
    const reader = await here.read('s', 1)
    await say(there.desk, 'from there')
    isSlow = true
    await Promise.all(['one', 'two', 'three'].map((text) => say(here.desk, text)))
    await tick()
    expect(reader.finished).toBe(false)
    expect(sent(reader)).toEqual(wire((await logOf(base)).slice(1)))
  })

  it('ends when the session was deleted elsewhere and every doorbell was lost', async () => {
    const { rows, store } = withErasures()
    const { there, here } = await twoGateways(store)
    const reader = await here.read('s', 1)
    await there.desk.deleteSession('s')
    rows.push({ cursor: '5', sessionId: 's' })
    await here.repair()
    expect(reader.finished).toBe(true)
  })

  it('never mixes two logs, even if the doorbells of the deletion and the new session were lost', async () => {
    const { rows, store } = withErasures()
    const { base, there, here } = await twoGateways(store)
    const before = await logOf(base)
    const reader = await here.read('s', 0)
    await there.desk.deleteSession('s')
    await there.desk.createSession({ id: 's' })
    await say(there.desk, 'of the new log')
    rows.push({ cursor: '5', sessionId: 's' }, { cursor: '6', sessionId: 's' })
    await here.repair()
    expect(reader.finished).toBe(true)
    expect(sent(reader)).toEqual(wire(before))
  })

  it('delivers no page of a new log to a reader that is behind in the old one', async () => {
    let hold: Promise<void> | null = null
    let isRead = () => {}
    const { there, here } = await twoGateways((base) => ({
      read: async (query) => {
        if (hold && query.limit > 1) {
          isRead()
          await hold
        }
        return base.read(query)
      },
    }))
    await say(there.desk, 'one')
    await here.desk.refresh('s')
    let release = () => {}
    hold = new Promise((resolve) => (release = resolve))
    const reading = new Promise<void>((resolve) => (isRead = resolve))
    const reader = here.read('s', 0)
    await reading
    await there.desk.deleteSession('s')
    await there.desk.createSession({ id: 's' })
    await say(there.desk, 'of the new log')
    hold = null
    release()
    const { socket, finished } = await reader
    expect({ written: socket.written, finished }).toEqual({ written: '', finished: true })
  })

  it('gets what a failed poll has missed', async () => {
    let failures = 0
    const { base, there, here } = await twoGateways((inner) => ({
      read: (query) => (failures-- > 0 ? Promise.reject(new Error('blip')) : inner.read(query)),
    }))
    const before = await logOf(base)
    const reader = await here.read('s', before.length)
    await say(there.desk, 'hello')
    failures = 2
    await here.repair()
    expect(reader.finished).toBe(false)
    expect(sent(reader)).toEqual(wire((await logOf(base)).slice(before.length)))
  })

  it('continues after a late doorbell of an erased log', async () => {
    const { here } = await twoGateways()
    const reader = await here.read('s', 1)
    here.ring('of an erased log')
    await tick()
    expect(reader.finished).toBe(false)
  })

  it('continues when a request is repeated next to other writes, also on a store that is not shared', async () => {
    const base = memoryStore()
    let last: Promise<unknown> = Promise.resolve()
    // Like a group commit: written in order, and confirmed together a moment later.
    const append: Store['append'] = (change) => {
      const written = last.then(() => base.append(change))
      last = written.catch(() => undefined)
      return written.then((result) => tick().then(() => result))
    }
    const { desk, read } = gateway(base, 'a', { shared: false, append }, true)
    await desk.ready
    await desk.createSession({ id: 's' })
    const reader = await read('s', 1)
    await Promise.all([
      say(desk, 'one', 'k'),
      say(desk, 'one', 'k'),
      say(desk, 'x', 'j'),
      say(desk, 'y', 'i'),
    ])
    await tick()
    expect(reader.finished).toBe(false)
    expect(sent(reader)).toEqual(wire((await logOf(base)).slice(1)))
  })
})
