import { AskbackError } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { eventually } from '../eventually.test.helper.js'
import { asked, settled } from '../testing/session-events.js'
import type { ScriptedTransport } from '../testing/scripted-transport.js'
import { createClient } from './client.js'
import { openSession, type OpenSessionOptions } from './open-session.test.helper.js'
import type { OutboxStorage } from './outbox.js'

const approve = { decision: 'approve' }
const offline = new AskbackError('unavailable', 'The gateway cannot be reached.')

async function pendingSession(options: OpenSessionOptions = {}) {
  const session = openSession({ prepare: ({ play }) => play('s1', ...asked('i1')), ...options })
  await eventually(() => expect(session.view().connection).toBe('live'))
  const responds = () => session.transport.calls.filter(({ method }) => method === 'respond')
  const status = () => session.view().submissions.get('i1')?.status
  return { ...session, responds, status }
}

function memoryStorage(...initial: [string, string][]): OutboxStorage & { entries: Map<string, string> } {
  const entries = new Map(initial)
  return {
    entries,
    read: () => [...entries.values()],
    write(interactionId, value) {
      if (value === null) entries.delete(interactionId)
      else entries.set(interactionId, value)
    },
  }
}

describe('an answer', () => {
  it('is bound to the request that was shown, and shown as settled before the stream sends it', async () => {
    const { store, view, responds, status } = await pendingSession()
    const answering = store.respond('i1', approve)
    expect(status()).toBe('sending')
    expect(await answering).toMatchObject({ ok: true, interaction: { settlement: 'approved' } })
    expect(view().state?.interactions.get('i1')).toMatchObject({ settlement: 'approved' })
    expect(view().state?.seq).toBe(5)
    expect(status()).toBeUndefined()
    expect(responds()[0]?.args[0]).toEqual({
      sessionId: 's1',
      interactionId: 'i1',
      answer: approve,
      digest: 'digest-i1',
    })
  })

  it('that is submitted twice is sent once', async () => {
    const { store, responds } = await pendingSession()
    const [first, second] = await Promise.all([store.respond('i1', approve), store.respond('i1', approve)])
    expect(first).toBe(second)
    expect(responds()).toHaveLength(1)
  })

  it('is queued while the gateway is unreachable, and sent under the same key when it is back', async () => {
    const { store, transport, responds, status } = await pendingSession()
    transport.online(false)
    const answering = store.respond('i1', approve)
    await eventually(() => expect(status()).toBe('queued'))
    transport.online(true)
    expect(await answering).toMatchObject({ ok: true })
    const keys = responds().map(({ args }) => (args[1] as { idempotencyKey: string }).idempotencyKey)
    expect(keys.length).toBeGreaterThan(1)
    expect(new Set(keys).size).toBe(1)
  })

  it('is retried with backoff if nothing signals that the gateway is back', async () => {
    const { store, transport, clock, status } = await pendingSession()
    transport.failNext('respond', offline)
    const answering = store.respond('i1', approve)
    await eventually(() => expect(status()).toBe('queued'))
    clock.advance(30_000)
    expect(await answering).toMatchObject({ ok: true })
  })

  it('is sent even if its session has no listeners any more', async () => {
    const { store, transport, clock, leave, client } = await pendingSession()
    transport.online(false)
    const answering = store.respond('i1', approve)
    await eventually(() => expect(client.outbox.of('s1').get('i1')?.status).toBe('queued'))
    leave()
    clock.advance(10_000)
    expect(client.session('s1')).not.toBe(store)
    transport.online(true)
    await eventually(() => {
      clock.advance(30_000)
      expect(client.outbox.of('s1').size).toBe(0)
    })
    expect(await answering).toMatchObject({ ok: true })
  })

  it('survives a reload', async () => {
    const storage = memoryStorage()
    const { store, transport, client, status } = await pendingSession({ storage })
    transport.online(false)
    store.respond('i1', approve).catch(() => undefined)
    await eventually(() => expect(status()).toBe('queued'))
    client.close()
    transport.online(true)
    const before = transport.calls.length
    createClient(transport, { storage })
    await eventually(() =>
      expect(transport.calls.slice(before).map(({ method }) => method)).toEqual(['respond']),
    )
    await eventually(() => expect(storage.entries.size).toBe(0))
  })

  it('is removed from the storage once it was refused', async () => {
    const storage = memoryStorage()
    const { store, transport } = await pendingSession({ storage })
    transport.failNext('respond', new AskbackError('invalid_answer', 'That is no option.'))
    const answering = store.respond('i1', approve)
    expect([...storage.entries.keys()]).toEqual(['i1'])
    await answering
    expect(storage.entries.size).toBe(0)
  })

  it('is stored beside those of other windows, whichever of them closes first', async () => {
    const storage = memoryStorage()
    const prepare = ({ play }: ScriptedTransport) => void play('s1', ...asked('i1'), ...asked('i2'))
    const { store, transport, client } = await pendingSession({ storage, prepare })
    transport.online(false)
    const other = createClient(transport, { storage })
    void store.respond('i1', approve)
    void other.outbox.submit({ sessionId: 's1', interactionId: 'i2', answer: { decision: 'deny' } })
    await eventually(() => expect(client.outbox.of('s1').get('i1')?.status).toBe('queued'))
    await eventually(() => expect(other.outbox.of('s1').get('i2')?.status).toBe('queued'))
    other.close()
    client.close()
    transport.online(true)
    const next = createClient(transport, { storage })
    expect([...next.outbox.of('s1').keys()]).toEqual(['i1', 'i2'])
    await eventually(() => expect(storage.entries.size).toBe(0))
  })

  it('stays queued while it is retried', async () => {
    const { store, transport, clock, client, responds, status } = await pendingSession()
    transport.online(false)
    const seen = new Set<string | undefined>()
    void store.respond('i1', approve)
    await eventually(() => expect(status()).toBe('queued'))
    client.outbox.on(() => seen.add(status()))
    await eventually(() => {
      clock.advance(30_000)
      expect(responds().length).toBeGreaterThan(3)
    })
    expect([...seen]).toEqual(['queued'])
  })

  it.each(['', 'no json', 'null', '{"a":1}', '[1]', '{"sessionId":1}'])(
    'is restored even if the storage also has %j',
    (value) => {
      const ours = JSON.stringify({ sessionId: 's1', interactionId: 'i1', answer: approve, key: 'k' })
      const storage = memoryStorage(['other', value], ['i1', ours])
      expect([...openSession({ storage }).client.outbox.all.keys()]).toEqual(['i1'])
    },
  )
})

describe('an answer that is refused', () => {
  it('fails with the reason, and can be retried or dismissed', async () => {
    const { store, transport, client, view, status } = await pendingSession()
    transport.failNext('respond', new AskbackError('invalid_answer', 'That is no option.'))
    expect(await store.respond('i1', approve)).toMatchObject({ ok: false, error: { code: 'invalid_answer' } })
    expect(view().submissions.get('i1')).toMatchObject({
      status: 'failed',
      error: { code: 'invalid_answer' },
    })
    expect(client.outbox.retry('other')).toBeNull()
    transport.failNext('respond', new AskbackError('forbidden', 'No.'))
    expect(await client.outbox.retry('i1')).toMatchObject({ ok: false })
    client.outbox.dismiss('i1')
    expect(status()).toBeUndefined()
  })

  it('because another was first shows that one', async () => {
    const { store, transport, view, status } = await pendingSession()
    const by = { id: 'bob', name: 'Bob' }
    transport.play('s1', ...settled('i1', { settlement: 'denied', by, answer: { decision: 'deny' } }))
    const outcome = await store.respond('i1', approve)
    expect(outcome).toMatchObject({ ok: false, error: { code: 'already_settled' } })
    await eventually(() =>
      expect(view().state?.interactions.get('i1')).toMatchObject({ settlement: 'denied', by }),
    )
    expect(status()).toBeUndefined()
  })

  it('because the login has ended is sent after a new login', async () => {
    const { store, transport, client, status } = await pendingSession()
    transport.failNext('respond', new AskbackError('unauthorized', 'Log in again.'))
    const answering = store.respond('i1', approve)
    await eventually(() => expect(status()).toBe('queued'))
    client.reconnect()
    expect(await answering).toMatchObject({ ok: true })
  })
})
