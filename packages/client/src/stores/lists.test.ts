import { AskbackError } from '@askback/protocol'
import { fakeClock } from '@askback/protocol/testing'
import { describe, expect, it, vi } from 'vitest'
import { eventually } from '../eventually.test.helper.js'
import { turn } from '../layout/layout-cases.test.helper.js'
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
  it('lists what is pending in every session, and is updated by events', async () => {
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

  it('shows nothing of a deleted session, also without its last events', async () => {
    const { inbox, transport } = setup()
    transport.play('s1', ...asked('i1'))
    transport.play('s2', ...asked('i2'))
    inbox.subscribe(() => undefined)
    await eventually(() => expect(ids(inbox)).toEqual(['i1', 'i2']))
    transport.erase('s1')
    await eventually(() => expect(ids(inbox)).toEqual(['i2']))
    expect(inbox.getSnapshot()).toMatchObject({ total: 1, leaving: [] })
    // A new session with the same id is shown.
    transport.play('s1', ...asked('i3'))
    await eventually(() => expect(ids(inbox)).toEqual(['i2', 'i3']))
  })

  it('shows nothing of a session that was deleted during the fetch', async () => {
    const { inbox, transport } = setup()
    transport.play('s1', ...asked('i1'))
    const page = await transport.inbox({})
    let deliver = () => {}
    transport.inbox = () => new Promise((resolve) => (deliver = () => resolve(page)))
    inbox.subscribe(() => undefined)
    await eventually(() => expect(inbox.getSnapshot().connection).toBe('live'))
    transport.erase('s1')
    deliver()
    await eventually(() => expect(ids(inbox)).toEqual([]))
  })

  it('[L2] lists what `interaction_pending` says is pending, and infers nothing from requests and responses', async () => {
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

  it('does not show what was settled while the list was being fetched', async () => {
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

  it('is fetched again after it was offline, since missed events are not sent', async () => {
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

  it('sends answers', async () => {
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

  it('retries a fetch that failed, and shows an error that will not pass', async () => {
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

  it('loads page by page', async () => {
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
  /** An inbox with `count` interactions in session s1 and one in session s2; the gateway sends 100 at a time. */
  async function largeInbox(count = 150) {
    const test = setup()
    const { inbox, transport } = test
    for (let index = 0; index < count; index++) transport.play('s1', ...asked(`i${index}`))
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
    /** Every id that was ever pending, in order: a cursor stays valid after its interaction was settled. */
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

  it('has the counts of the gateway, including what is not loaded', async () => {
    const { view, counted } = await largeInbox()
    expect(view().items).toHaveLength(100)
    expect(counted()).toEqual([151, 150, 1])
  })

  it('requests the counts again after changes, once for those that come together', async () => {
    const { transport, clock, counted } = await largeInbox()
    const before = transport.calls.filter(({ method }) => method === 'inbox').length
    transport.play('s2', ...asked('new'), ...settled('other'))
    transport.play('s2', ...asked('newer'))
    await eventually(() => {
      clock.advance(500)
      expect(counted()).toEqual([152, 150, 2])
    })
    expect(transport.calls.filter(({ method }) => method === 'inbox')).toHaveLength(before + 1)
  })

  it('lists new requests that are on a later page until they are settled or loaded', async () => {
    const { inbox, transport, view } = await largeInbox()
    const unlisted = () => view().unlisted.map(({ interactionId }) => interactionId)
    expect(unlisted()).toEqual([])
    transport.play('s2', ...asked('new'), ...asked('newer'))
    await eventually(() => expect(unlisted()).toEqual(['new', 'newer']))
    transport.play('s2', ...settled('new'))
    await eventually(() => expect(unlisted()).toEqual(['newer']))
    await inbox.loadMore()
    expect(view()).toMatchObject({ more: false, unlisted: [], total: 152 })
  })

  it('counts its own items once all of them are loaded', async () => {
    const { inbox, transport, counted } = await largeInbox()
    await inbox.loadMore()
    transport.play('s1', ...settled('i3'))
    await eventually(() => expect(counted()).toEqual([150, 149, 1]))
  })

  it('loads the next page before its items run out', async () => {
    const { transport, view } = await largeInbox(120)
    for (let index = 0; index < 95; index++) transport.play('s1', ...settled(`i${index}`))
    await eventually(() => expect(view()).toMatchObject({ more: false, total: 26 }))
    expect(view().items).toHaveLength(26)
  })

  it('has no more pages once everything on them was settled', async () => {
    const { transport, clock, view } = await largeInbox()
    for (let index = 100; index < 150; index++) transport.play('s1', ...settled(`i${index}`))
    transport.play('s2', ...settled('other'))
    await eventually(() => {
      clock.advance(500)
      expect(view()).toMatchObject({ more: false, total: 100 })
    })
  })
})

describe('the session list', () => {
  it('shows status and mode, new sessions and deletions', async () => {
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

  it('reports deleted sessions, also those that are not in the list', async () => {
    const sessionEnded = vi.fn<(sessionId: string) => void>()
    const { sessions, transport } = setup({ sessionEnded })
    sessions.subscribe(() => undefined)
    await eventually(() => expect(sessions.getSnapshot().items).toEqual([]))
    transport.sessions = () => Promise.resolve({ sessions: [], next: 'more' })
    transport.play('s1')
    await transport.remove('s1')
    await eventually(() => expect(sessionEnded).toHaveBeenCalledWith('s1'))
  })

  it('drops a deleted session, also without its last events', async () => {
    const sessionEnded = vi.fn<(sessionId: string) => void>()
    const { sessions, transport } = setup({ sessionEnded })
    transport.play('s1')
    transport.play('s2')
    sessions.subscribe(() => undefined)
    await eventually(() => expect(sessions.getSnapshot().items).toHaveLength(2))
    transport.erase('s1')
    await eventually(() => expect(sessions.getSnapshot().items).toMatchObject([{ id: 's2' }]))
    expect(sessionEnded).toHaveBeenCalledWith('s1')
  })

  it('is fetched again when an event names an unknown session', async () => {
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

  it('is looked up once', async () => {
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

  it('is looked up again if that failed', async () => {
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
  it('is shared: it opens with the first listener and closes after the last', async () => {
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

  it('shows that the login has ended, and opens again after a new one', async () => {
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

describe('a settled interaction in the inbox', () => {
  it('is shown for five seconds with who answered, and not counted', async () => {
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

  it('is not shown if it was superseded', async () => {
    const { inbox, transport } = setup()
    transport.play('s1', ...asked('i1'))
    inbox.subscribe(() => undefined)
    await eventually(() => expect(ids(inbox)).toEqual(['i1']))
    transport.play('s1', ...settled('i1', { settlement: 'superseded', supersededBy: 'i2' }), ...asked('i2'))
    await eventually(() => expect(ids(inbox)).toEqual(['i2']))
    expect(inbox.getSnapshot().leaving).toEqual([])
  })
})

it('the inbox has server time, whatever the clock of this machine says', async () => {
  const clock = fakeClock()
  const transport = scriptedTransport({ now: () => clock.now() + 3_600_000 })
  const { inbox } = createClient(transport, { clock, random: () => 0, schedule: (flush) => flush() })
  transport.play('s1', ...asked('i1', { expiresAt: clock.now() + 3_660_000 }))
  inbox.subscribe(() => undefined)
  await eventually(() => expect(ids(inbox)).toEqual(['i1']))
  expect(inbox.serverNow() - clock.now()).toBe(3_600_000)
})
