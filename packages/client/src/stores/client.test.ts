import { expect, it, vi } from 'vitest'
import { eventually } from '../eventually.test.helper.js'
import { wrote } from '../testing/session-events.js'
import { createClient } from './client.js'
import { openSession } from './open-session.test.helper.js'

it('gives everyone who looks at a session the same store', () => {
  const { client, store } = openSession()
  expect(client.session('s1')).toBe(store)
})

it('drops a store that nobody has looked at for a while, and begins anew', async () => {
  const { client, store, clock, leave } = openSession()
  leave()
  clock.advance(4999)
  expect(client.session('s1')).toBe(store)
  clock.advance(1)
  expect(client.session('s1')).not.toBe(store)
})

it('drops a store that was asked for and never looked at', () => {
  const { client, clock } = openSession()
  const unused = client.session('s2')
  clock.advance(5000)
  expect(client.session('s2')).not.toBe(unused)
})

it('keeps a store for whoever comes back in time, without asking again', async () => {
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

it('whoever holds on to a dropped store can go on with it, from where it was', async () => {
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

it('ends all streams when it is closed', async () => {
  const { client, transport, view, told } = openSession()
  await eventually(() => expect(view().connection).toBe('live'))
  client.close()
  const before = told.length
  transport.play('s1', wrote('b1'))
  await Promise.resolve()
  expect(told).toHaveLength(before)
})

it('tells a moment later unless told otherwise', async () => {
  const { transport } = openSession()
  const client = createClient(transport)
  const store = client.session('s1')
  const told = vi.fn<() => void>()
  store.subscribe(told)
  await eventually(() => expect(told).toHaveBeenCalled())
  client.close()
})
