import { AskbackError, pendingOf } from '@askback/protocol'
import { describe, expect, it, vi } from 'vitest'
import { eventually } from '../eventually.test.helper.js'
import { over, r1, turn } from '../layout/layout-cases.test.helper.js'
import { draw } from '../testing/draw.js'
import { asked, called, EventLog, settled, started, wrote } from '../testing/session-events.js'
import { openSession } from './open-session.test.helper.js'

const isLive = async ({ view }: ReturnType<typeof openSession>) =>
  eventually(() => expect(view()).toMatchObject({ connection: 'live' }))

describe('the view', () => {
  it('begins with a snapshot and continues with the events after it', async () => {
    const session = openSession()
    expect(session.view()).toMatchObject({
      connection: 'connecting',
      state: null,
      layout: null,
      typing: false,
    })
    await isLive(session)
    session.transport.play('s1', turn('t1'), wrote('b1', r1))
    await eventually(() => expect(session.view().state?.seq).toBe(3))
    expect(draw(session.view().layout!)).toBe('turn t1\n  response r1\n    text "text of b1"\ntyping')
    expect(session.view().typing).toBe(true)
    expect(session.transport.calls.map(({ method }) => method)).toEqual(['snapshot', 'events'])
  })

  it('is the same object until something changes', async () => {
    const session = openSession()
    await isLive(session)
    const before = session.view()
    expect(session.view()).toBe(before)
    expect(before.layout).toBe(before.layout)
    session.transport.play('s1', wrote('b1'))
    await eventually(() => expect(session.view()).not.toBe(before))
  })

  it('notifies once for changes that come together', async () => {
    const flushes: (() => void)[] = []
    const session = openSession({ schedule: (flush) => flushes.push(flush) })
    await isLive(session)
    flushes.splice(0).forEach((flush) => flush())
    const before = session.notified.length
    session.transport.play('s1', ...Array.from({ length: 50 }, (_, n) => wrote(`b${n}`)))
    await eventually(() => expect(session.view().state?.seq).toBe(51))
    flushes.splice(0).forEach((flush) => flush())
    expect(session.notified.slice(before)).toEqual([51])
  })

  it('notifies of a growing text on its own schedule, or together with a more urgent change', async () => {
    const frames: (() => void)[] = []
    const session = openSession({ scheduleLive: (flush) => frames.push(flush) })
    await isLive(session)
    session.transport.play('s1', turn('t1'))
    await eventually(() => expect(session.view().typing).toBe(true))
    const grow = (offset: number) =>
      session.transport.playLive('s1', { type: 'text_delta', blockId: 'b1', offset, text: 'x' })
    const isWritten = (text: string) =>
      eventually(() => expect(draw(session.view().layout!)).toContain(`"${text}" streaming`))
    const before = session.notified.length
    grow(0)
    grow(1)
    await isWritten('xx')
    expect([session.notified.length - before, frames.length]).toEqual([0, 1])
    frames.pop()!()
    expect(session.notified.length - before).toBe(1)

    grow(2)
    await isWritten('xxx')
    session.transport.play('s1', wrote('b2'))
    await eventually(() => expect(session.notified.length - before).toBe(2))
    frames.pop()!()
    expect(session.notified.length - before).toBe(2)
  })

  it('shows no typing while offline or before the first snapshot', async () => {
    const session = openSession({ prepare: ({ play }) => play('s1', turn('t1')) })
    expect(session.view().typing).toBe(false)
    await isLive(session)
    expect(session.view().typing).toBe(true)
    session.transport.online(false)
    await eventually(() => expect(session.view()).toMatchObject({ connection: 'offline', typing: false }))
    session.transport.online(true)
    await eventually(() => expect(session.view()).toMatchObject({ connection: 'live', typing: true }))
  })

  it('shows unfinished blocks until they are in the log, or a new stream does not send them', async () => {
    const session = openSession()
    await isLive(session)
    session.transport.play('s1', turn('t1'))
    const piece = { type: 'text_delta', blockId: 'b1', offset: 0, text: 'He' } as const
    session.transport.playLive('s1', piece)
    await eventually(() => expect(draw(session.view().layout!)).toContain('"He" streaming'))
    session.transport.play('s1', wrote('b1'))
    await eventually(() => expect(draw(session.view().layout!)).not.toContain('streaming'))
    session.transport.playLive('s1', { ...piece, blockId: 'b2' })
    await eventually(() => expect(draw(session.view().layout!)).toContain('streaming'))
    session.transport.deliver('s1', { type: 'connection', status: 'live' })
    session.transport.playLive('s1', { ...piece, blockId: 'b3' })
    await eventually(() => expect(draw(session.view().layout!).match(/streaming/g)).toHaveLength(2))
    session.clock.advance(2000)
    expect(draw(session.view().layout!).match(/streaming/g)).toHaveLength(1)
  })
})

describe('the order of events', () => {
  it('folds only the next event: it buffers early ones and drops known ones', async () => {
    const session = openSession()
    await isLive(session)
    const other = new EventLog('s1')
    other.append(started(), turn('t1'), called('c1', r1), ...asked('i1', { toolCallId: 'c1', ...r1 }))
    const [, second, ...rest] = other.events
    for (const event of rest.reverse()) session.transport.deliver('s1', { type: 'event', event })
    await Promise.resolve()
    expect(session.view().state?.seq).toBe(1)
    for (const event of [second!, second!, ...rest]) session.transport.deliver('s1', { type: 'event', event })
    await eventually(() => expect(session.view().state?.seq).toBe(5))
    expect(draw(session.view().layout!)).toContain('approval i1 open')
  })

  it('requests missing events that do not come by themselves', async () => {
    const session = openSession()
    await isLive(session)
    const behind = new EventLog('s1')
    behind.append(started(), wrote('b1'), wrote('b2'))
    session.transport.deliver('s1', { type: 'event', event: behind.events[2]! })
    session.transport.failNext('history', new AskbackError('unavailable', 'not now'))
    for (const times of [1, 2]) {
      await eventually(() => {
        session.clock.advance(1000)
        expect(session.transport.calls.filter(({ method }) => method === 'history')).toHaveLength(times)
      })
    }
    expect(session.transport.calls.at(-1)?.args).toEqual(['s1', { after: 1 }])
  })

  it('does not fill a gap with events of another log under the same id', async () => {
    const session = openSession()
    await isLive(session)
    const behind = new EventLog('s1')
    behind.append(started(), wrote('b1'), wrote('b2'))
    const otherLog = new EventLog('s1')
    otherLog.append(started(), wrote('of another log'))
    const events = otherLog.events.map((event) => ({ ...event, id: `other-${event.id}` }))
    const history = vi.spyOn(session.transport, 'history').mockImplementation(async (_, query = {}) => {
      const { after = 0, limit = 1000 } = query
      return { events: events.slice(after, after + limit), next: null }
    })
    session.transport.deliver('s1', { type: 'event', event: behind.events[2]! })
    await eventually(() => {
      session.clock.advance(1000)
      // It is requested again, until the stream reports that the log was erased.
      expect(history.mock.calls.length).toBeGreaterThan(2)
    })
    expect(session.view().state?.seq).toBe(1)
  })

  it('takes a new snapshot when its cursor does not belong to the log any more', async () => {
    const session = openSession()
    await isLive(session)
    session.transport.play('s1', wrote('b1'))
    await eventually(() => expect(session.view().state?.seq).toBe(2))
    session.transport.deliver('s1', { type: 'resync' })
    await eventually(() =>
      expect(session.transport.calls.filter(({ method }) => method === 'snapshot')).toHaveLength(2),
    )
  })
})

describe('time', () => {
  it('is server time, whatever the clock of this machine says', async () => {
    const session = openSession({
      prepare(transport, clock) {
        const snapshot = transport.snapshot.bind(transport)
        transport.snapshot = async (id) => ({ ...(await snapshot(id)), now: clock.now() + 3_600_000 })
      },
    })
    await isLive(session)
    expect(session.store.serverNow() - session.clock.now()).toBe(3_600_000)
    session.clock.advance(5000)
    expect(session.store.serverNow() - session.clock.now()).toBe(3_600_000)
  })

  it('is never before the time of an event', async () => {
    const session = openSession()
    await isLive(session)
    const [event] = session.transport.play('s1', wrote('b1'))
    await eventually(() => expect(session.store.serverNow()).toBe(event!.at))
  })
})

describe('older turns', () => {
  const turns = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, n) => [
      turn(`t${from + n}`),
      wrote(`b${from + n}`, { responseId: `r${from + n}` }),
      over(`t${from + n}`),
    ]).flat()

  it('are loaded some at a time, until there are none', async () => {
    const session = openSession({
      prepare: ({ play }) => play('s1', ...asked('old', { turnId: 't0' }), ...turns(0, 60)),
    })
    await isLive(session)
    expect(session.view()).toMatchObject({ older: 'available' })
    expect(session.view().state?.turns).toHaveLength(21)
    const loading = session.store.loadOlder()
    expect(session.view().older).toBe('loading')
    await loading
    expect(session.view().state?.turns).toHaveLength(60)
    expect(session.view()).toMatchObject({ older: 'none' })
    expect(pendingOf(session.view().state!)).toMatchObject([{ interactionId: 'old' }])
    expect(session.view().state?.pendingOutsideWindow).toEqual(new Set())
  })

  it('are loaded while new events arrive', async () => {
    const session = openSession({
      prepare: ({ play }) => play('s1', ...asked('old', { turnId: 't0' }), ...turns(0, 400)),
    })
    await isLive(session)
    const loading = session.store.loadOlder()
    session.transport.play('s1', ...turns(400, 402), ...settled('old'))
    await loading
    await eventually(() => expect(session.view().state?.pendingIds.size).toBe(0))
    const { state, older } = session.view()
    expect(older).toBe('available')
    expect(state?.turns.length).toBeGreaterThanOrEqual(31)
    expect(state?.turns.at(-1)?.turnId).toBe('t401')
    await session.store.loadOlder()
    await session.store.loadOlder()
    expect(session.view().state?.turns).toHaveLength(402)
  })

  it('stay on the screen when new turns come', async () => {
    const session = openSession({ prepare: ({ play }) => play('s1', ...turns(0, 5)) })
    await isLive(session)
    session.transport.play('s1', ...turns(5, 40))
    await eventually(() => expect(session.view().state?.turns).toHaveLength(40))
    expect(session.view().older).toBe('none')
  })
})

describe('an error', () => {
  it.each([
    ['not_found', 'offline'],
    ['forbidden', 'offline'],
    ['unauthorized', 'unauthorized'],
  ] as const)('%s is shown, and not retried before reconnect', async (code, connection) => {
    const session = openSession({
      prepare: ({ failNext }) => failNext('snapshot', new AskbackError(code, 'no')),
    })
    await eventually(() => expect(session.view()).toMatchObject({ connection, error: { code } }))
    session.clock.advance(3_600_000)
    expect(session.transport.calls.filter(({ method }) => method === 'snapshot')).toHaveLength(1)
    session.store.reconnect()
    await isLive(session)
    expect(session.view().error).toBeNull()
  })

  it('that may pass is retried', async () => {
    const session = openSession({
      prepare: ({ failNext }) => failNext('snapshot', new AskbackError('unavailable', 'draining')),
    })
    await eventually(() => expect(session.view().connection).toBe('offline'))
    await eventually(() => {
      session.clock.advance(1000)
      expect(session.view().connection).toBe('live')
    })
  })
})
