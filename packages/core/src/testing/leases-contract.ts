import type { Json } from '@askback/protocol'
import { afterEach, describe, expect, it } from 'vitest'
import { memoryBus } from '../cluster/bus.js'
import { Leases } from '../cluster/leases.js'
import type { Store } from '../store/store.js'
import { fakeClock } from './fake-clock.js'
import { SessionScript, text } from './session-script.js'

const LEASE_MS = 10_000

/** What leases promise on every store that processes share. `createStores` gives two views of one store. */
export function leasesContract(name: string, createStores: () => Promise<[Store, Store]>): void {
  describe(`leases on ${name}`, () => {
    let ends: (() => Promise<void>)[] = []
    afterEach(async () => {
      for (const end of ends.toReversed()) await end()
      ends = []
    })

    async function members() {
      const stores = await createStores()
      const clock = fakeClock()
      const join = memoryBus()
      const errors: unknown[] = []
      const make = async (index: 0 | 1) => {
        const store = stores[index]
        const own = { isFrozen: false }
        const time = {
          now: () => clock.now(),
          alarm: (at: number, wake: () => void) => clock.alarm(at, () => own.isFrozen || wake()),
        }
        const leases = new Leases({
          store,
          bus: join(),
          clock: time,
          leaseMs: LEASE_MS,
          onError: (e) => errors.push(e),
        })
        const told = {
          mail: [] as Json[],
          orphans: [] as string[],
          letters: [] as Json[],
          lost: [] as string[],
        }
        await leases.start({
          mail: async (letter) => void told.mail.push(letter),
          orphans: async (sessionIds, letters) => {
            told.orphans.push(...sessionIds)
            told.letters.push(...letters)
          },
          lost: (sessionIds) => void told.lost.push(...sessionIds),
        })
        const freeze = () => (own.isFrozen = true)
        const thaw = async () => {
          own.isFrozen = false
          // As its timers do that fell due meanwhile.
          await leases.wake()
        }
        return { leases, store, told, freeze, thaw }
      }
      const here = await make(0)
      const there = await make(1)
      ends.push(async () => {
        await Promise.all([here.leases.close(), there.leases.close()])
        await Promise.all(stores.map((store) => store.close()))
      })
      /** Lets time pass as slowly as the store works. */
      const pass = async (ms: number) => {
        for (let passed = 0; passed < ms; passed += LEASE_MS / 10) {
          clock.advance(LEASE_MS / 10)
          await Promise.all([here.leases.settled(), there.leases.settled()])
        }
      }
      return { here, there, pass, errors }
    }

    it('give a session to one process, which keeps it while it lives', async () => {
      const { here, there, pass, errors } = await members()
      const both = await Promise.all([here.leases.acquire('s'), there.leases.acquire('s')])
      expect(both.filter(({ mine }) => mine)).toHaveLength(1)
      const [owner, other] = both[0].mine ? [here, there] : [there, here]
      await pass(5 * LEASE_MS)
      expect(await other.leases.acquire('s')).toEqual({ mine: false, owner: owner.leases.id })
      expect(other.told.orphans).toEqual([])
      expect(owner.told.lost).toEqual([])
      await owner.leases.release('s')
      expect(await other.leases.acquire('s')).toMatchObject({ mine: true })
      expect(errors).toEqual([])
    })

    it('hold when they are acquired while their release is under way', async () => {
      const { here } = await members()
      for (let round = 0; round < 10; round++) {
        await here.leases.acquire('s')
        const released = here.leases.release('s')
        const again = await here.leases.acquire('s')
        await released
        const entry = await here.store.kv.get('lease/s')
        expect(again).toEqual({ mine: true, fence: { key: 'lease/s', version: entry?.version } })
      }
    })

    it('of a process that is silent for the time of a lease are taken over, and it learns that when it is back', async () => {
      const { here, there, pass } = await members()
      const lease = await here.leases.acquire('s')
      const fence = lease.mine ? lease.fence : undefined
      const script = new SessionScript('s')
      await here.store.append({ ...script.start(), fence: fence! })
      here.freeze()
      await pass(LEASE_MS)
      expect(there.told.orphans).toEqual(['s'])
      expect(await there.leases.acquire('s')).toMatchObject({ mine: true })
      expect(await here.store.append({ ...script.attempt(1, text('late')), fence: fence! })).toEqual({
        ok: false,
        conflict: 'fence',
      })
      const before = here.leases.id
      await here.thaw()
      expect(here.told.lost).toEqual(['s'])
      expect(here.leases.id).not.toBe(before)
      expect(await here.leases.acquire('s')).toEqual({ mine: false, owner: there.leases.id })
      expect(
        await there.store.append({ ...script.attempt(1, text('theirs')), fence: there.leases.fence('s')! }),
      ).toEqual({ ok: true })
    })

    it('of a process that ends in good order are free at once', async () => {
      const { here, there } = await members()
      await here.leases.acquire('s')
      await here.leases.close()
      await expect.poll(() => there.told.orphans).toEqual(['s'])
    })

    it('bring a letter to its process once, or to whoever takes over', async () => {
      const { here, there, pass } = await members()
      await there.leases.post(here.leases.id, { do: 'this' })
      await expect.poll(() => here.told.mail).toEqual([{ do: 'this' }])
      here.freeze()
      await here.leases.close()
      await there.leases.post(here.leases.id, { do: 'that' })
      await pass(LEASE_MS)
      await expect.poll(() => there.told.letters).toEqual([{ do: 'that' }])
      expect(here.told.mail).toHaveLength(1)
    })
  })
}
