import { AskbackError } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { eventually } from '../eventually.test.helper.js'
import { asked, settled } from '../testing/session-events.js'
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

function memoryStorage(): OutboxStorage & { value: string | null } {
  return {
    value: null,
    read() {
      return this.value
    },
    write(value) {
      this.value = value
    },
  }
}

describe('an answer', () => {
  it('is bound to what was shown, folded at once, and dropped when the stream tells it again', async () => {
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

  it('pressed twice is sent once', async () => {
    const { store, responds } = await pendingSession()
    const [first, second] = await Promise.all([store.respond('i1', approve), store.respond('i1', approve)])
    expect(first).toBe(second)
    expect(responds()).toHaveLength(1)
  })

  it('is kept while the gateway is away, and sent under the same key when it is back', async () => {
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

  it('is tried again after a while if nobody says that the gateway is back', async () => {
    const { store, transport, clock, status } = await pendingSession()
    transport.failNext('respond', offline)
    const answering = store.respond('i1', approve)
    await eventually(() => expect(status()).toBe('queued'))
    clock.advance(30_000)
    expect(await answering).toMatchObject({ ok: true })
  })

  it('is sent though nobody looks at the session any more', async () => {
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
    await eventually(() => expect(storage.value).toBe('[]'))
  })

  it.each(['', 'no json', '{"a":1}', '[1]', '[{"sessionId":1}]'])('finds nothing in %j', (value) => {
    const storage = { ...memoryStorage(), value }
    expect(openSession({ storage }).client.outbox.of('s1').size).toBe(0)
  })
})

describe('an answer that is refused', () => {
  it('fails with what was wrong, and can be given again or let go', async () => {
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

  it('[lesson 8] the loser of a race sees the winner', async () => {
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

  it('waits for a login that is over to come back', async () => {
    const { store, transport, client, status } = await pendingSession()
    transport.failNext('respond', new AskbackError('unauthorized', 'Log in again.'))
    const answering = store.respond('i1', approve)
    await eventually(() => expect(status()).toBe('queued'))
    client.reconnect()
    expect(await answering).toMatchObject({ ok: true })
  })
})
