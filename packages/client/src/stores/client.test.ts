import { expect, it, vi } from 'vitest'
import { eventually } from '../eventually.test.helper.js'
import { wrote } from '../testing/session-events.js'
import { createClient } from './client.js'
import { openSession } from './open-session.test.helper.js'

it('returns the same store for the same session', () => {
  const { client, store } = openSession()
  expect(client.session('s1')).toBe(store)
})

it('drops a store five seconds after its last listener left', async () => {
  const { client, store, clock, leave } = openSession()
  leave()
  clock.advance(4999)
  expect(client.session('s1')).toBe(store)
  clock.advance(1)
  expect(client.session('s1')).not.toBe(store)
})

it('drops a store that never had a listener', () => {
  const { client, clock } = openSession()
  const unused = client.session('s2')
  clock.advance(5000)
  expect(client.session('s2')).not.toBe(unused)
})

it('keeps a store for a listener that comes back in time, without another snapshot', async () => {
  const { store, clock, leave, transport, view } = openSession()
  await eventually(() => expect(view().connection).toBe('live'))
  leave()
  clock.advance(4000)
  store.subscribe(() => undefined)
  clock.advance(10_000)
  transport.play('s1', wrote('b1'))
  await eventually(() => expect(view().state?.seq).toBe(2))
  expect(transport.calls.filter(({ method }) => method === 'snapshot')).toHaveLength(1)
})

it('a dropped store can be used again, and continues from its position', async () => {
  const { store, clock, leave, transport, view } = openSession()
  await eventually(() => expect(view().connection).toBe('live'))
  leave()
  clock.advance(10_000)
  expect(view().connection).toBe('connecting')
  transport.play('s1', wrote('b1'))
  store.subscribe(() => undefined)
  await eventually(() => expect(view().state?.seq).toBe(2))
  expect(transport.calls.filter(({ method }) => method === 'snapshot')).toHaveLength(1)
})

it('ends all streams when the client is closed', async () => {
  const { client, transport, view, notified } = openSession()
  await eventually(() => expect(view().connection).toBe('live'))
  client.close()
  const before = notified.length
  transport.play('s1', wrote('b1'))
  await Promise.resolve()
  expect(notified).toHaveLength(before)
})

it('notifies listeners after a timer of 0 ms by default', async () => {
  const { transport } = openSession()
  const client = createClient(transport)
  const store = client.session('s1')
  const listener = vi.fn<() => void>()
  store.subscribe(listener)
  await eventually(() => expect(listener).toHaveBeenCalled())
  client.close()
})
