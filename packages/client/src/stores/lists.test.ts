import { AskbackError } from '@askback/protocol'
import { describe, expect, it, vi } from 'vitest'
import { eventually } from '../eventually.test.helper.js'
import { turn } from '../layout/layout-cases.test.helper.js'
import { fakeClock } from '../testing/fake-clock.js'
import { scriptedTransport, type ScriptedTransport } from '../testing/scripted-transport.js'
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

  it('[L2] holds what `interaction_pending` says is pending, and infers nothing from request and response', async () => {
    const { inbox, transport } = setup()
    const [opens, request] = asked('i1')
    const [response, closes] = settled('i1')
    inbox.subscribe(() => undefined)
    await eventually(() => expect(ids(inbox)).toEqual([]))
    transport.play('s1', asked('i0')[1]!, ...asked('i2'))
    await eventually(() => expect(ids(inbox)).toEqual(['i2']))
    transport.play('s1', opens!, request!)
    await eventually(() => expect(ids(inbox)).toEqual(['i2', 'i1']))
    transport.play('s1', response!, ...settled('i2'))
    await eventually(() => expect(ids(inbox)).toEqual(['i1']))
    expect(inbox.getSnapshot()).toMatchObject({ total: 1, leaving: [{ interactionId: 'i2' }] })
    transport.play('s1', closes!)
    await eventually(() => expect(ids(inbox)).toEqual([]))
    expect(inbox.getSnapshot().leaving).toMatchObject([
      { interactionId: 'i2', status: 'settled', settlement: 'approved' },
      { interactionId: 'i1', status: 'settled', settlement: 'approved' },
    ])
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
      const counts = { total: interactions.length, perSession: {} }
      return query?.after === undefined
        ? { interactions: interactions.slice(0, 1), next: 'more', ...counts }
        : { interactions: interactions.slice(1), next: null, ...counts }
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

describe('an inbox of more than one page', () => {
  /** `many` in session s1, of which the gateway gives 100 at a time, and one in session s2. */
  async function begin(many = 150) {
    const test = setup()
    const { inbox, transport } = test
    for (let index = 0; index < many; index++) transport.play('s1', ...asked(`i${index}`))
    transport.play('s2', ...asked('other'))
    pageBy(transport)
    inbox.subscribe(() => undefined)
    await eventually(() => expect(inbox.getSnapshot().items).not.toBeNull())
    const view = () => inbox.getSnapshot()
    const counted = () => [view().total, view().perSession.get('s1'), view().perSession.get('s2')]
    return { ...test, view, counted }
  }

  function pageBy(transport: ScriptedTransport) {
    const all = transport.inbox.bind(transport)
    /** Every id that was ever pending, in order: a cursor outlives what it stands for. */
    const order: string[] = []
    transport.inbox = async (query = {}) => {
      const { interactions, ...counts } = await all(query)
      for (const { interactionId } of interactions)
        if (!order.includes(interactionId)) order.push(interactionId)
      const after = query.after === undefined ? -1 : order.indexOf(query.after)
      const later = interactions.filter(({ interactionId }) => order.indexOf(interactionId) > after)
      const page = later.slice(0, query.limit ?? 100)
      return {
        ...counts,
        interactions: page,
        next: page.length < later.length ? page.at(-1)!.interactionId : null,
      }
    }
  }

  it('counts what is not loaded as the gateway does', async () => {
    const { view, counted } = await begin()
    expect(view().items).toHaveLength(100)
    expect(counted()).toEqual([151, 150, 1])
  })

  it('asks anew for the counts when something opens or settles, once for what comes together', async () => {
    const { transport, clock, counted } = await begin()
    const before = transport.calls.filter(({ method }) => method === 'inbox').length
    transport.play('s2', ...asked('new'), ...settled('other'))
    transport.play('s2', ...asked('newer'))
    await eventually(() => {
      clock.advance(500)
      expect(counted()).toEqual([152, 150, 2])
    })
    expect(transport.calls.filter(({ method }) => method === 'inbox')).toHaveLength(before + 1)
  })

  it('tells of requests that arrive beyond what is loaded, until they are settled or loaded', async () => {
    const { inbox, transport, view } = await begin()
    const unlisted = () => view().unlisted.map(({ interactionId }) => interactionId)
    expect(unlisted()).toEqual([])
    transport.play('s2', ...asked('new'), ...asked('newer'))
    await eventually(() => expect(unlisted()).toEqual(['new', 'newer']))
    transport.play('s2', ...settled('new'))
    await eventually(() => expect(unlisted()).toEqual(['newer']))
    await inbox.loadMore()
    expect(view()).toMatchObject({ more: false, unlisted: [], total: 152 })
  })

  it('is exact again once all of it is loaded', async () => {
    const { inbox, transport, counted } = await begin()
    await inbox.loadMore()
    transport.play('s1', ...settled('i3'))
    await eventually(() => expect(counted()).toEqual([150, 149, 1]))
  })

  it('loads more before the loaded ones run out', async () => {
    const { transport, view } = await begin(120)
    for (let index = 0; index < 95; index++) transport.play('s1', ...settled(`i${index}`))
    await eventually(() => expect(view()).toMatchObject({ more: false, total: 26 }))
    expect(view().items).toHaveLength(26)
  })

  it('knows that there is no more when the others were settled elsewhere', async () => {
    const { transport, clock, view } = await begin()
    for (let index = 100; index < 150; index++) transport.play('s1', ...settled(`i${index}`))
    transport.play('s2', ...settled('other'))
    await eventually(() => {
      clock.advance(500)
      expect(view()).toMatchObject({ more: false, total: 100 })
    })
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
