import { AskbackError } from '@askback/protocol'
import { describe, expect, it, vi } from 'vitest'
import { eventually } from '../eventually.test.helper.js'
import { turn } from '../layout/layout-cases.test.helper.js'
import { fakeClock } from '../testing/fake-clock.js'
import { scriptedTransport } from '../testing/scripted-transport.js'
import { asked, askedQuestion, settled } from '../testing/session-events.js'
import { createClient, type ClientOptions } from './client.js'

function setup(options: ClientOptions = {}) {
  const clock = fakeClock()
  const transport = scriptedTransport()
  const schedule = (flush: () => void) => flush()
  const client = createClient(transport, { clock, random: () => 0, schedule, ...options })
  return { ...client, clock, transport, client }
}

const ids = ({ getSnapshot }: ReturnType<typeof setup>['inbox']) =>
  getSnapshot().items?.map(({ interactionId }) => interactionId)

describe('the inbox', () => {
  it('holds what is pending in every session, and follows', async () => {
    const { inbox, transport } = setup()
    transport.play('s1', ...asked('i1'))
    transport.play('s2', ...askedQuestion('i2'))
    inbox.subscribe(() => undefined)
    await eventually(() => expect(ids(inbox)).toEqual(['i1', 'i2']))
    transport.play('s1', ...asked('i3'))
    await eventually(() => expect(ids(inbox)).toEqual(['i1', 'i2', 'i3']))
    transport.play('s2', {
      type: 'interaction_progress',
      interactionId: 'i2',
      answers: [{ selected: ['A'] }],
    })
    await eventually(() => expect(inbox.getSnapshot().items?.[1]?.progress).toEqual([{ selected: ['A'] }]))
    transport.play('s1', ...settled('i1'))
    await eventually(() => expect(ids(inbox)).toEqual(['i2', 'i3']))
    const before = inbox.getSnapshot()
    transport.play('s1', turn('t1'))
    await Promise.resolve()
    expect(inbox.getSnapshot()).toBe(before)
  })

  it('[lesson 16] shows no ghost of what was settled while the page was on its way', async () => {
    const { inbox, transport } = setup()
    transport.play('s1', ...asked('i1'), ...asked('i2'))
    const fetch = transport.inbox.bind(transport)
    transport.inbox = async (query) => {
      const page = await fetch(query)
      transport.play('s1', ...settled('i1'), ...asked('i3'))
      return page
    }
    inbox.subscribe(() => undefined)
    await eventually(() => expect(ids(inbox)).toEqual(['i2', 'i3']))
  })

  it('looks again after it was offline, when nothing is told', async () => {
    const { inbox, transport } = setup()
    transport.play('s1', ...asked('i1'))
    inbox.subscribe(() => undefined)
    await eventually(() => expect(ids(inbox)).toEqual(['i1']))
    transport.online(false)
    await eventually(() => expect(inbox.getSnapshot().connection).toBe('offline'))
    expect(ids(inbox)).toEqual(['i1'])
    transport.online(true)
    transport.play('s1', ...asked('i2'))
    await eventually(() => expect(ids(inbox)).toEqual(['i1', 'i2']))
  })

  it('answers in place', async () => {
    const { inbox, transport } = setup()
    transport.play('s1', ...asked('i1'))
    inbox.subscribe(() => undefined)
    await eventually(() => expect(ids(inbox)).toEqual(['i1']))
    const [item] = inbox.getSnapshot().items!
    const answering = inbox.respond(item!, { decision: 'approve' })
    expect(inbox.getSnapshot().submissions.get('i1')).toMatchObject({ status: 'sending' })
    expect(await answering).toMatchObject({ ok: true })
    expect(ids(inbox)).toEqual([])
    expect(inbox.getSnapshot().submissions.size).toBe(0)
  })

  it('tries again when a page does not come, and tells when it never will', async () => {
    const { inbox, transport, clock } = setup()
    transport.failNext('inbox', new AskbackError('unavailable', 'not now'))
    inbox.subscribe(() => undefined)
    await eventually(() => {
      clock.advance(1000)
      expect(ids(inbox)).toEqual([])
    })
    transport.failNext('inbox', new AskbackError('forbidden', 'no'))
    inbox.refresh()
    await eventually(() => expect(inbox.getSnapshot().error).toMatchObject({ code: 'forbidden' }))
  })

  it('goes on page by page', async () => {
    const { inbox, transport } = setup()
    transport.play('s1', ...asked('i1'), ...asked('i2'))
    const all = transport.inbox.bind(transport)
    transport.inbox = async (query) => {
      const { interactions } = await all(query)
      return query?.after === undefined
        ? { interactions: interactions.slice(0, 1), next: 'more' }
        : { interactions: interactions.slice(1), next: null }
    }
    inbox.subscribe(() => undefined)
    await eventually(() => expect(inbox.getSnapshot()).toMatchObject({ more: true }))
    transport.play('s1', ...asked('i3'))
    await eventually(() => expect(ids(inbox)).toEqual(['i1']))
    await inbox.loadMore()
    expect(ids(inbox)).toEqual(['i1', 'i2', 'i3'])
    expect(inbox.getSnapshot().more).toBe(false)
    await inbox.loadMore()
    expect(ids(inbox)).toEqual(['i1', 'i2', 'i3'])
  })
})

describe('the session list', () => {
  it('follows status and mode, new sessions and those that end', async () => {
    const { sessions, transport } = setup()
    transport.play('s1')
    sessions.subscribe(() => undefined)
    const list = () => sessions.getSnapshot().items?.map(({ id, status }) => `${id} ${status}`)
    await eventually(() => expect(list()).toEqual(['s1 idle']))
    transport.play('s1', { type: 'session_status', status: 'running', permissionMode: 'plan' })
    await eventually(() => expect(list()).toEqual(['s1 running']))
    expect(sessions.getSnapshot().items?.[0]?.permissionMode).toBe('plan')
    await transport.create()
    await eventually(() => expect(list()).toEqual(['s2 idle', expect.stringMatching(/^s1/)]))
    await transport.remove('s1')
    await eventually(() => expect(list()).toEqual(['s2 idle']))
  })

  it('tells which session was deleted, also if it is not in the list', async () => {
    const sessionEnded = vi.fn<(sessionId: string) => void>()
    const { sessions, transport } = setup({ sessionEnded })
    sessions.subscribe(() => undefined)
    await eventually(() => expect(sessions.getSnapshot().items).toEqual([]))
    transport.sessions = () => Promise.resolve({ sessions: [], next: 'more' })
    transport.play('s1')
    await transport.remove('s1')
    await eventually(() => expect(sessionEnded).toHaveBeenCalledWith('s1'))
  })

  it('asks the gateway for a session that it only hears of', async () => {
    const { sessions, transport } = setup()
    sessions.subscribe(() => undefined)
    await eventually(() => expect(sessions.getSnapshot().items).toEqual([]))
    const before = transport.calls.length
    transport.play('s1', { type: 'session_status', status: 'running', permissionMode: 'default' })
    await eventually(() => expect(sessions.getSnapshot().items).toHaveLength(1))
    expect(transport.calls.slice(before).length).toBeLessThanOrEqual(2)
  })
})

describe('a session beyond the list', () => {
  function longList() {
    const parts = setup()
    for (const id of ['old', 'older', 'new']) parts.transport.play(id)
    const all = parts.transport.sessions.bind(parts.transport)
    parts.transport.sessions = async (query) => ({
      sessions: (await all(query)).sessions.slice(0, 1),
      next: 'more',
    })
    const snapshots = () =>
      parts.transport.calls.flatMap((call) => (call.method === 'snapshot' ? call.args : []))
    const others = () => [...parts.sessions.getSnapshot().others.keys()]
    return { ...parts, snapshots, others }
  }

  it('is looked up once, for who needs it', async () => {
    const { sessions, snapshots, others } = longList()
    await sessions.lookUp(['old'])
    expect(snapshots()).toEqual([])
    sessions.subscribe(() => undefined)
    await eventually(() => expect(sessions.getSnapshot().items).toHaveLength(1))
    await Promise.all([sessions.lookUp(['new', 'old']), sessions.lookUp(['old', 'older'])])
    expect(snapshots()).toEqual(['old', 'older'])
    expect(others()).toEqual(['old', 'older'])
    expect(sessions.getSnapshot().items).toHaveLength(1)
  })

  it('is looked up again if it did not come', async () => {
    const { sessions, transport, others } = longList()
    sessions.subscribe(() => undefined)
    await eventually(() => expect(sessions.getSnapshot().items).toHaveLength(1))
    transport.failNext('snapshot', new AskbackError('unavailable', 'not now'))
    await sessions.lookUp(['old', 'older'])
    expect(others()).toEqual(['older'])
    await sessions.lookUp(['old', 'older'])
    expect(others()).toEqual(['older', 'old'])
  })
})

describe('the one stream over all sessions', () => {
  it('is shared, opened for the first who needs it and closed after the last', async () => {
    const { inbox, sessions, transport, clock } = setup()
    const streams: AbortSignal[] = []
    const changes = transport.changes.bind(transport)
    transport.changes = (signal) => {
      streams.push(signal!)
      return changes(signal)
    }
    const leave = [inbox.subscribe(() => undefined), sessions.subscribe(() => undefined)]
    await eventually(() => expect(sessions.getSnapshot().connection).toBe('live'))
    leave.forEach((stop) => stop())
    expect(streams.map(({ aborted }) => aborted)).toEqual([false])
    clock.advance(10_000)
    expect(streams.map(({ aborted }) => aborted)).toEqual([true])
    inbox.subscribe(() => undefined)
    await eventually(() => expect(inbox.getSnapshot().connection).toBe('live'))
    expect(streams).toHaveLength(2)
  })

  it('an end of the login is told, and a new one begins it anew', async () => {
    const { inbox, client, transport } = setup()
    const changes = transport.changes.bind(transport)
    transport.changes = () => {
      transport.changes = changes
      throw new AskbackError('unauthorized', 'Log in.')
    }
    inbox.subscribe(() => undefined)
    await eventually(() => expect(inbox.getSnapshot().connection).toBe('unauthorized'))
    client.reconnect()
    await eventually(() => expect(inbox.getSnapshot()).toMatchObject({ connection: 'live', error: null }))
  })
})

describe('the inbox, of what was settled', () => {
  it('shows who did, for a moment, and counts it no longer', async () => {
    const { inbox, transport, clock } = setup()
    transport.play('s1', ...asked('i1'), ...asked('i2'))
    inbox.subscribe(() => undefined)
    await eventually(() => expect(ids(inbox)).toEqual(['i1', 'i2']))
    transport.play(
      's1',
      ...settled('i1', { settlement: 'denied', by: { id: 'grace', name: 'Grace' }, via: 'telegram' }),
    )
    await eventually(() => expect(ids(inbox)).toEqual(['i2']))
    expect(inbox.getSnapshot().leaving).toMatchObject([
      { interactionId: 'i1', settlement: 'denied', by: { name: 'Grace' }, via: 'telegram' },
    ])
    clock.advance(5000)
    expect(inbox.getSnapshot().leaving).toEqual([])
  })

  it('keeps nothing of what was asked anew', async () => {
    const { inbox, transport } = setup()
    transport.play('s1', ...asked('i1'))
    inbox.subscribe(() => undefined)
    await eventually(() => expect(ids(inbox)).toEqual(['i1']))
    transport.play('s1', ...settled('i1', { settlement: 'superseded', supersededBy: 'i2' }), ...asked('i2'))
    await eventually(() => expect(ids(inbox)).toEqual(['i2']))
    expect(inbox.getSnapshot().leaving).toEqual([])
  })
})

it('[lesson 22] the inbox counts by the clock of the gateway', async () => {
  const clock = fakeClock()
  const transport = scriptedTransport({ now: () => clock.now() + 3_600_000 })
  const { inbox } = createClient(transport, { clock, random: () => 0, schedule: (flush) => flush() })
  transport.play('s1', ...asked('i1', { expiresAt: clock.now() + 3_660_000 }))
  inbox.subscribe(() => undefined)
  await eventually(() => expect(ids(inbox)).toEqual(['i1']))
  expect(inbox.serverNow() - clock.now()).toBe(3_600_000)
})
