import { createDesk, memoryStore, type Head, type Host, type AppendNotice, type Store } from '@askback/core'
import { SessionScript, text } from '@askback/core/testing'
import type { SessionEvent } from '@askback/protocol'
import * as fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { FakeSocket } from './fake-socket.test.helper.js'
import { Feed, isInLog } from './feed.js'
import { type Encoding, PageCache } from './pages.js'

const bySeq: Encoding = {
  events: (events) => Buffer.from(events.map((event) => `${event.seq} `).join('')),
  live: (_sessionId, event) => Buffer.from(`${event.type} `),
  resync: () => Buffer.from('resync '),
}

type Step =
  | { do: 'append'; events: number; rings: 'at once' | 'later' | 'never' }
  | { do: 'ring' }
  | { do: 'read'; from: number; takes: number }
  | { do: 'drain' }
  | { do: 'let pass'; turns: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant('append' as const),
    events: fc.integer({ min: 1, max: 4 }),
    rings: fc.constantFrom('at once' as const, 'later' as const, 'never' as const),
  }),
  fc.record({
    do: fc.constant('read' as const),
    from: fc.double({ min: 0, max: 1, noNaN: true }),
    takes: fc.constantFrom(1, 8, 100, Infinity),
  }),
  fc.constant({ do: 'ring' as const }),
  fc.constant({ do: 'drain' as const }),
  fc.record({ do: fc.constant('let pass' as const), turns: fc.integer({ min: 1, max: 8 }) }),
)

describe('a feed', () => {
  it('delivers everything after its cursor to every reader, once and in order, in every interleaving', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(step, { minLength: 20, maxLength: 60 }),
        async (scheduler, steps) => {
          const run = await Run.start(scheduler)
          for (const one of steps) await run.step(one)
          await run.settle()
          for (const { cursor, socket } of run.readers) {
            const expected = Array.from({ length: run.seq - cursor }, (_, index) => cursor + 1 + index)
            expect(socket.written.split(' ').slice(0, -1).map(Number)).toEqual(expected)
          }
        },
      ),
      { numRuns: 100, seed: 3 },
    )
  })

  it('delivers what was committed while it opened, after the head that the desk returned', async () => {
    const { store } = await logOf(3)
    const events = await store.read({ sessionId: 's', limit: 3 })
    const headAt = (seq: number) => ({ logId: events[0]!.id, seq, id: events[seq - 1]!.id }) as Head
    const follow: Host['desk']['follow'] = async (sessionId, follower) => {
      const early = [events[2]!]
      // In the same tick in which the head is returned.
      void Promise.resolve().then(() =>
        follower.advanced({ sessionId, head: headAt(3), events: early, texts: () => [''] }),
      )
      return { head: headAt(2), stop: () => undefined }
    }
    const host = { desk: { follow }, liveBlocks: () => [] } as unknown as Host
    const onError = (error: unknown) => expect.fail(String(error))
    const cache = new PageCache(1e6)
    const feed = new Feed('s', { host, store, encoding: bySeq, cache, bufferBytes: Infinity, onError })
    expect(await isInLog(feed, 3, undefined)).toBe(true)
    const fake = new FakeSocket()
    feed.add({ socket: fake.socket, cursor: 0, finish: () => undefined })
    await expect.poll(() => fake.written).toBe('1 2 3 ')
  })

  it('encodes each frame once, however many readers there are', async () => {
    let made = 0
    const counting: Encoding = {
      ...bySeq,
      events(events, texts) {
        made += events.length
        return bySeq.events(events, texts)
      },
    }
    const { store, script } = await logOf(300)
    const feed = feedOn(store, { encoding: counting })
    await feed.opened
    const sockets = Array.from({ length: 100 }, () => new FakeSocket())
    for (const { socket } of sockets) feed.add({ socket, cursor: 0, finish: () => undefined })
    const late = sockets.at(-1)!
    await expect.poll(() => late.written).toMatch(/ 301 $/)
    expect(made).toBe(301)
    await append(store, script, 3)
    await expect.poll(() => made).toBe(304)
    expect(new Set(sockets.map((socket) => socket.written)).size).toBe(1)
  })

  it('disconnects a live reader with too many bytes waiting, and no other', async () => {
    const { store, script } = await logOf(0)
    const feed = feedOn(store, { bufferBytes: 10 })
    await feed.opened
    const [slow, fast] = [new FakeSocket(), new FakeSocket()]
    for (const { socket } of [slow, fast]) feed.add({ socket, cursor: 1, finish: () => undefined })
    for (let seq = 2; seq < 20; seq++) {
      await append(store, script, 1)
      await expect.poll(() => fast.written).toMatch(new RegExp(`\\b${seq} $`))
      fast.drain()
    }
    expect(slow.destroyed).toBe(true)
    expect(slow.writableLength).toBeLessThan(20)
    expect(fast.destroyed).toBe(false)
  })

  it('disconnects its readers if the store fails, and reports the error', async () => {
    const errors: unknown[] = []
    const { store } = await logOf(10)
    const feed = feedOn(store, { onError: (error: unknown) => void errors.push(error) })
    await feed.opened
    const reader = new FakeSocket()
    await store.close()
    feed.add({ socket: reader.socket, cursor: 0, finish: () => undefined })
    await expect.poll(() => reader.destroyed).toBe(true)
    expect(errors).toHaveLength(1)
  })
})

/** One process that learns late, or never, what others append to the log that it reads. */
class Run {
  readonly readers: { cursor: number; socket: FakeSocket }[] = []
  readonly #scheduler: fc.Scheduler
  readonly #store: Store
  readonly #script: SessionScript
  readonly #feed: Feed
  readonly #listeners = new Set<(notice: AppendNotice) => void>()
  #waiting: AppendNotice[] = []
  seq = 250

  private constructor(scheduler: fc.Scheduler, store: Store, script: SessionScript) {
    this.#scheduler = scheduler
    this.#store = store
    this.#script = script
    // Others may append before the read takes effect, and before its result arrives here.
    const read = async (query: Parameters<Store['read']>[0]) => {
      await scheduler.schedule(Promise.resolve(), 'asks')
      const events = await store.read(query)
      await scheduler.schedule(Promise.resolve(), 'hears')
      return events
    }
    const onAppend = (listener: (notice: AppendNotice) => void) => {
      this.#listeners.add(listener)
      return () => this.#listeners.delete(listener)
    }
    this.#feed = feedOn({ ...store, read, onAppend }, {})
  }

  static async start(scheduler: fc.Scheduler): Promise<Run> {
    // Near the end of a page.
    const { store, script } = await logOf(249)
    return new Run(scheduler, store, script)
  }

  async step(one: Step): Promise<void> {
    switch (one.do) {
      case 'append': {
        const events = await append(this.#store, this.#script, one.events)
        this.seq += one.events
        if (one.rings !== 'never') this.#waiting.push({ sessionId: 's', eventId: events.at(-1)!.id })
        if (one.rings === 'at once') this.#ringAll()
        return
      }
      case 'ring':
        return this.#ringAll()
      case 'read':
        return this.#read(Math.round(one.from * this.seq), one.takes)
      case 'drain':
        for (const { socket } of this.readers) socket.drain()
        return
      case 'let pass':
        for (let turn = 0; turn < one.turns && this.#scheduler.count() > 0; turn++)
          await this.#scheduler.waitNext(1)
    }
  }

  async settle(): Promise<void> {
    this.#waiting.push({ sessionId: 's', eventId: 'the last look' })
    this.#ringAll()
    for (let quiet = 0; quiet < 10;) {
      const before = this.#written
      await new Promise((resolve) => setImmediate(resolve))
      await this.#scheduler.waitIdle()
      for (const { socket } of this.readers) socket.drain()
      quiet = this.#written === before ? quiet + 1 : 0
    }
  }

  get #written(): number {
    return this.readers.reduce((sum, { socket }) => sum + socket.written.length, 0)
  }

  #ringAll(): void {
    for (const notice of this.#waiting.splice(0)) for (const listener of this.#listeners) listener(notice)
  }

  #read(cursor: number, takes: number): void {
    const socket = new FakeSocket(takes)
    this.readers.push({ cursor, socket })
    const reader = { socket: socket.socket, cursor, finish: () => undefined }
    void isInLog(this.#feed, cursor, undefined).then((found) => {
      expect(found).toBe(true)
      this.#feed.add(reader)
    })
  }
}

function feedOn(store: Store, options: object): Feed {
  const cache = new PageCache(1000)
  const onError = (error: unknown) => {
    throw error
  }
  const shared = { ...store, shared: true }
  const desk = createDesk({ store: shared, onError: () => undefined })
  onTestFinished(() => desk.close())
  const host = { desk, liveBlocks: () => [] } as unknown as Host
  const given = { host, store: shared, cache, encoding: bySeq, bufferBytes: Infinity, onError }
  return new Feed('s', { ...given, ...options })
}

/** A log with this many events after its first. */
async function logOf(count: number): Promise<{ store: Store; script: SessionScript }> {
  const store = memoryStore()
  const script = new SessionScript('s')
  await store.append(script.start())
  if (count > 0) await append(store, script, count)
  return { store, script }
}

async function append(store: Store, script: SessionScript, count: number): Promise<SessionEvent[]> {
  const next = script.next(...Array.from({ length: count }, () => text('x')))
  await store.append(next)
  return next.events
}
