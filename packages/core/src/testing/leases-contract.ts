import type { Json } from '@askback/protocol'
import { afterEach, describe, expect, it } from 'vitest'
import { memoryBus } from '../cluster/bus.js'
import { Leases } from '../cluster/leases.js'
import type { Store } from '../store/store.js'
import { fakeClock } from './fake-clock.js'
import { SessionScript, text } from './session-script.js'

const LEASE_MS = 10_000

/**
 * Tests leases on a store that several processes share.
 *
 * @param createStores returns two connections to one store
 */
export function leasesContract(name: string, createStores: () => Promise<[Store, Store]>): void {
  describe(`leases on ${name}`, () => {
    let ends: (() => Promise<void>)[] = []
    afterEach(async () => {
      for (const end of ends.toReversed()) await end()
      ends = []
    })

    async function twoGateways() {
      const stores = await createStores()
      const clock = fakeClock()
      const join = memoryBus()
      const errors: unknown[] = []
      const make = async (index: 0 | 1) => {
        const store = stores[index]
        const state = { isFrozen: false }
        const time = {
          now: () => clock.now(),
          alarm: (at: number, wake: () => void) => clock.alarm(at, () => state.isFrozen || wake()),
        }
        const leases = new Leases({
          store,
          bus: join(),
          clock: time,
          leaseMs: LEASE_MS,
          onError: (e) => errors.push(e),
        })
        const received = {
          mail: [] as Json[],
          orphans: [] as string[],
          orphanCommands: [] as Json[],
          lost: [] as string[],
        }
        await leases.start({
          mail: async (command) => void received.mail.push(command),
          orphans: async (sessionIds, commands) => {
            received.orphans.push(...sessionIds)
            received.orphanCommands.push(...commands)
          },
          lost: (sessionIds) => void received.lost.push(...sessionIds),
        })
        const freeze = () => (state.isFrozen = true)
        const thaw = async () => {
          state.isFrozen = false
          // Its timers became due while it was frozen.
          await leases.wake()
        }
        return { leases, store, received, freeze, thaw }
      }
      const here = await make(0)
      const there = await make(1)
      ends.push(async () => {
        await Promise.all([here.leases.close(), there.leases.close()])
        await Promise.all(stores.map((store) => store.close()))
      })
      /** Advances the clock in steps and waits for the store after each. */
      const pass = async (ms: number) => {
        for (let passed = 0; passed < ms; passed += LEASE_MS / 10) {
          clock.advance(LEASE_MS / 10)
          await Promise.all([here.leases.settled(), there.leases.settled()])
        }
      }
      return { here, there, pass, errors }
    }

    it('belong to one process as long as it runs', async () => {
      const { here, there, pass, errors } = await twoGateways()
      const both = await Promise.all([here.leases.acquire('s'), there.leases.acquire('s')])
      expect(both.filter(({ mine }) => mine)).toHaveLength(1)
      const [owner, other] = both[0].mine ? [here, there] : [there, here]
      await pass(5 * LEASE_MS)
      expect(await other.leases.acquire('s')).toEqual({ mine: false, owner: owner.leases.id })
      expect(other.received.orphans).toEqual([])
      expect(owner.received.lost).toEqual([])
      await owner.leases.release('s')
      expect(await other.leases.acquire('s')).toMatchObject({ mine: true })
      expect(errors).toEqual([])
    })

    it('are valid when they are acquired during their release', async () => {
      const { here } = await twoGateways()
      for (let round = 0; round < 10; round++) {
        await here.leases.acquire('s')
        const released = here.leases.release('s')
        const again = await here.leases.acquire('s')
        await released
        const entry = await here.store.kv.get('lease/s')
        expect(again).toEqual({ mine: true, fence: { key: 'lease/s', version: entry?.version } })
      }
    })

    it('of a process that does not renew them are taken over, and it learns so when it continues', async () => {
      const { here, there, pass } = await twoGateways()
      const lease = await here.leases.acquire('s')
      const fence = lease.mine ? lease.fence : undefined
      const script = new SessionScript('s')
      await here.store.append({ ...script.start(), fence: fence! })
      here.freeze()
      await pass(LEASE_MS)
      expect(there.received.orphans).toEqual(['s'])
      expect(await there.leases.acquire('s')).toMatchObject({ mine: true })
      expect(await here.store.append({ ...script.attempt(1, text('late')), fence: fence! })).toEqual({
        ok: false,
        conflict: 'fence',
      })
      const before = here.leases.id
      await here.thaw()
      expect(here.received.lost).toEqual(['s'])
      expect(here.leases.id).not.toBe(before)
      expect(await here.leases.acquire('s')).toEqual({ mine: false, owner: there.leases.id })
      expect(
        await there.store.append({ ...script.attempt(1, text('theirs')), fence: there.leases.fence('s')! }),
      ).toEqual({ ok: true })
    })

    it('that were lost still reject writes of the agent, also after the process noticed the loss', async () => {
      const { here, there, pass } = await twoGateways()
      await here.leases.acquire('s')
      const script = new SessionScript('s')
      await here.store.append({ ...script.start(), fence: here.leases.lastFence('s')! })
      here.freeze()
      await pass(LEASE_MS)
      await there.leases.acquire('s')
      await here.thaw()
      const fence = here.leases.lastFence('s')
      expect(fence).toBeDefined()
      expect(await here.store.append({ ...script.attempt(1, text('left behind')), fence: fence! })).toEqual({
        ok: false,
        conflict: 'fence',
      })
      expect(here.leases.fence('s')).toBeUndefined()
    })

    it('of a process that closes are free at once', async () => {
      const { here, there } = await twoGateways()
      await here.leases.acquire('s')
      await here.leases.close()
      await expect.poll(() => there.received.orphans).toEqual(['s'])
    })

    it('deliver an agent command once, to its process or to the one that took over', async () => {
      const { here, there, pass } = await twoGateways()
      await there.leases.post(here.leases.id, { do: 'this' })
      await expect.poll(() => here.received.mail).toEqual([{ do: 'this' }])
      here.freeze()
      await here.leases.close()
      await there.leases.post(here.leases.id, { do: 'that' })
      await pass(LEASE_MS)
      await expect.poll(() => there.received.orphanCommands).toEqual([{ do: 'that' }])
      expect(here.received.mail).toHaveLength(1)
    })
  })
}
