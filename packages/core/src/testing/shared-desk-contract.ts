import type { SessionEvent } from '@askback/protocol'
import { afterEach, describe, expect, it } from 'vitest'
import { memoryBus, storeOnBus } from '../cluster/bus.js'
import { createDesk, type Desk } from '../desk/desk.js'
import type { Store } from '../store/store.js'
import { fakeClock } from './fake-clock.js'

const question = {
  questions: [
    { question: 'Which?', header: 'Pick', options: [{ label: 'A' }, { label: 'B' }], multiSelect: false },
  ],
}
const answer = { answers: [{ selected: ['A'] }] }

/**
 * Tests that desks in several processes on one store agree. The clock stands still, so nothing is polled or retried by itself.
 *
 * @param createStores returns two connections to one store
 */
export function sharedDeskContract(name: string, createStores: () => Promise<[Store, Store]>): void {
  describe(`desks that share ${name}`, () => {
    let ends: (() => Promise<void>)[] = []
    afterEach(async () => {
      for (const end of ends.toReversed()) await end()
      ends = []
    })

    async function twoDesks(change: (store: Store) => Store = (store) => store) {
      const [first, second] = await createStores()
      const join = memoryBus()
      const errors: unknown[] = []
      const clock = fakeClock()
      const make = (store: Store): Desk =>
        createDesk({ store, clock, onError: (error) => errors.push(error) })
      const here = make(storeOnBus(first, join()))
      const there = make(change(storeOnBus(second, join())))
      ends.push(async () => {
        here.close()
        there.close()
        await first.close()
        if (second !== first) await second.close()
        expect(errors).toEqual([])
      })
      await Promise.all([here.ready, there.ready])
      await here.createSession({ id: 's' })
      const open = async () =>
        (await here.open({ sessionId: 's', kind: 'question', request: question })).interaction.interactionId
      return { here, there, open }
    }

    /** The texts that a desk publishes for the session. */
    async function follow(desk: Desk) {
      const events: SessionEvent[] = []
      const followed = { events, isGone: false, head: 0 }
      const { head } = await desk.follow('s', {
        advanced: (advance) => events.push(...advance.events),
        gone: () => (followed.isGone = true),
      })
      followed.head = head.seq
      return followed
    }

    const say = (desk: Desk, text: string) =>
      desk.report({ sessionId: 's', events: [{ type: 'text', blockId: text, text }] })

    it('resolve a waiter here with an answer that was given there', async () => {
      const { here, there, open } = await twoDesks()
      const interactionId = await open()
      const settled = here.wait(interactionId, { sessionId: 's' })
      await there.as({ via: 'web' }).respond({ interactionId, answer })
      expect(await settled).toMatchObject({ settlement: 'answered', answer })
    })

    it('accept one of two answers that are given at once', async () => {
      const { here, there, open } = await twoDesks()
      const interactionId = await open()
      const answers = [here, there].map((desk) => desk.as({ via: 'web' }).respond({ interactionId, answer }))
      const results = await Promise.allSettled(answers)
      expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    })

    it('publish every event of the other once and in order', async () => {
      const { here, there } = await twoDesks()
      const followed = await follow(there)
      for (const text of ['one', 'two', 'three']) await say(here, text)
      await expect.poll(() => followed.events.length).toBe(3)
      expect(followed.events.map(({ seq }) => seq)).toEqual([1, 2, 3].map((n) => followed.head + n))
    })

    it('publish an event whose doorbell rang while the session was being loaded', async () => {
      let onRead = () => {}
      const hasRead = new Promise<void>((resolve) => (onRead = resolve))
      let release = () => {}
      const released = new Promise<void>((resolve) => (release = resolve))
      const { here, there } = await twoDesks((store) => ({
        ...store,
        read: async (query) => {
          const events = await store.read(query)
          onRead()
          await released
          return events
        },
      }))
      const following = follow(there)
      await hasRead
      await say(here, 'meanwhile')
      release()
      const followed = await following
      const known = () => followed.head + followed.events.length
      await expect.poll(known).toBe((await here.snapshot('s')).seq)
    })

    it('end followers and waiters of a session that the other deletes, and do not mix it with a new one', async () => {
      const { here, there, open } = await twoDesks()
      const interactionId = await open()
      const followed = await follow(there)
      const waited = there.wait(interactionId, { sessionId: 's' })
      await here.deleteSession('s')
      expect(await waited).toMatchObject({ settlement: 'cancelled' })
      // An erasure rings no doorbell: the next read, here as the poll does it, finds that the log is gone.
      await there.refresh('s')
      expect(followed.isGone).toBe(true)
      await here.createSession({ id: 's' })
      await say(here, 'of the new log')
      expect((await there.snapshot('s', { fresh: true })).seq).toBe((await here.snapshot('s')).seq)
    })
  })
}
