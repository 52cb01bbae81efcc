import { AskbackError } from '@askback/protocol'
import { expect, it } from 'vitest'
import { Leases, memoryStore, type Store } from '../index.js'
import { fakeClock } from '../testing/fake-clock.js'

it('sessions that were taken from a process are reported as lost, although it could not register again at once', async () => {
  const inner: Store = { ...memoryStore(), shared: true }
  const clock = fakeClock()
  const lost: string[] = []
  let isAway = false
  const put: Store['kv']['put'] = (key, value, expected, act) =>
    isAway && expected === null
      ? Promise.reject(new AskbackError('unavailable', 'The database is away.'))
      : inner.kv.put(key, value, expected, act)
  const store: Store = { ...inner, kv: { ...inner.kv, put } }
  const leases = new Leases({ store, clock, leaseMs: 10_000, onError: () => undefined })
  await leases.start({
    mail: async () => undefined,
    orphans: async () => undefined,
    lost: (sessionIds) => lost.push(...sessionIds),
  })
  await leases.acquire('s')
  const member = await inner.kv.get(`gateway/${leases.id}`)
  await inner.kv.put(member!.key, null, member!.version)
  isAway = true
  await leases.wake()
  isAway = false
  await leases.wake()
  expect(lost).toEqual(['s'])
  await leases.close()
})
