import { AskbackError, type Json } from '@askback/protocol'
import { expect, it } from 'vitest'
import { Leases, memoryBus, memoryStore, type Store } from '../index.js'
import { fakeClock } from '../testing/fake-clock.js'

const away = () => new AskbackError('unavailable', 'The store is away.')

async function process(options: {
  put?: (put: Store['kv']['put']) => Store['kv']['put']
  list?: (list: Store['kv']['list']) => Store['kv']['list']
  mail?: (command: Json) => Promise<void>
  shared?: Store
}) {
  const shared: Store = options.shared ?? { ...memoryStore(), shared: true }
  const { kv } = shared
  const ownPut: Store['kv']['put'] = (...call) => kv.put(...call)
  const ownList: Store['kv']['list'] = (prefix) => kv.list(prefix)
  const put = options.put?.(ownPut) ?? ownPut
  const list = options.list?.(ownList) ?? ownList
  const store: Store = { ...shared, kv: { ...kv, put, list } }
  const clock = fakeClock()
  const errors: unknown[] = []
  const leases = new Leases({ store, bus: memoryBus()(), clock, onError: (error) => errors.push(error) })
  const orphans: string[] = []
  const commands: Json[] = []
  await leases.start({
    mail: options.mail ?? (async () => undefined),
    orphans: async (sessionIds, left) => {
      orphans.push(...sessionIds)
      commands.push(...left)
    },
    lost: () => undefined,
  })
  return { leases, shared, errors, orphans, commands }
}

it('a command is executed once although the reply to its removal is lost', async () => {
  const executed: Json[] = []
  let lost = 1
  const { leases, shared } = await process({
    mail: async (command) => void executed.push(command),
    put: (put) => async (key, value, expected) => {
      const isPut = await put(key, value, expected)
      if (key.startsWith('mail/') && value === null && lost-- > 0) throw away()
      return isPut
    },
  })
  await leases.post(leases.id, 'this')
  for (let beat = 0; beat < 3; beat++) await leases.wake()
  await expect.poll(() => executed).toEqual(['this'])
  expect(await shared.kv.list('mail/')).toEqual([])
  await leases.close()
})

it('a command is removed after it was executed, and executed again if that failed', async () => {
  const attempts: Json[] = []
  const { leases, shared } = await process({
    mail: async (command) => {
      attempts.push(command)
      expect(await shared.kv.list('mail/')).toHaveLength(1)
      if (attempts.length === 1) throw away()
    },
  })
  await leases.post(leases.id, 'this')
  await leases.wake()
  await expect.poll(() => attempts).toHaveLength(1)
  await leases.wake()
  await expect.poll(() => attempts).toHaveLength(2)
  await expect.poll(() => shared.kv.list('mail/')).toEqual([])
  await leases.close()
})

it('a command that never ends blocks no other', async () => {
  const executed: Json[] = []
  const { leases } = await process({
    mail: (command) => {
      executed.push(command)
      return command === 'hang' ? new Promise(() => undefined) : Promise.resolve()
    },
  })
  await leases.post(leases.id, 'hang')
  await leases.wake()
  await leases.post(leases.id, 'next')
  await leases.wake()
  await expect.poll(() => executed).toEqual(['hang', 'next'])
  await leases.close()
})

it('sending to a dead process returns false', async () => {
  const { leases, shared } = await process({})
  expect(await leases.post('gone', 'this')).toBe(false)
  await shared.kv.put('gateway/there', { at: 0 }, null)
  expect(await leases.post('there', 'this')).toBe(true)
  await leases.close()
})

it('leases and commands of a dead process are taken over although the store fails in the middle of that', async () => {
  const shared: Store = { ...memoryStore(), shared: true }
  await shared.kv.put('lease/s', { gateway: 'dead' }, null)
  await shared.kv.put('mail/dead/1', 'this', null)
  let failures = 1
  const { leases, orphans, commands } = await process({
    shared,
    list: (list) => (prefix) =>
      prefix === 'mail/' && failures-- > 0 ? Promise.reject(away()) : list(prefix),
  })
  expect(orphans).toEqual([])
  await leases.wake()
  expect(orphans).toEqual(['s'])
  expect(commands).toEqual(['this'])
  expect(await shared.kv.list('mail/')).toEqual([])
  await leases.close()
})

it('concurrent acquires of one lease in one process get the same fence', async () => {
  const { leases, shared } = await process({})
  const [one, other] = await Promise.all([leases.acquire('s'), leases.acquire('s')])
  const entry = await shared.kv.get('lease/s')
  expect(one).toEqual({ mine: true, fence: { key: 'lease/s', version: entry!.version } })
  expect(other).toEqual(one)
  await leases.close()
})

it('a release whose reply is lost is completed by the next one', async () => {
  let failures = 1
  const { leases, shared } = await process({
    put: (put) => (key, value, expected) =>
      key.startsWith('lease/') && value === null && failures-- > 0
        ? Promise.reject(away())
        : put(key, value, expected),
  })
  await leases.acquire('s')
  await expect(leases.release('s')).rejects.toMatchObject({ code: 'unavailable' })
  expect(await leases.find('s')).toBeNull()
  await leases.release('s')
  expect(await shared.kv.get('lease/s')).toBeNull()
  await leases.close()
})
