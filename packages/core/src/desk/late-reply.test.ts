import { expect, it } from 'vitest'
import { createDesk, memoryStore, type Store } from '../index.js'
import { countingIds, fakeClock } from '../testing/fake-clock.js'
import { tick } from './test-desk.test.helper.js'

it('a reply that arrives after its log was replaced publishes nothing about the new log', async () => {
  const shared: Store = { ...memoryStore(), shared: true }
  const clock = fakeClock()
  const errors: unknown[] = []
  let answered: (() => void) | null = null
  let isLate = false
  const slow: Store = {
    ...shared,
    async append(append) {
      const result = await shared.append(append)
      if (isLate) {
        isLate = false
        await new Promise<void>((resolve) => (answered = resolve))
      }
      return result
    },
    // The doorbell of an own append arrives with its reply.
    onAppend: () => () => undefined,
  }
  const make = (store: Store, prefix: string) =>
    createDesk({ store, clock, newId: countingIds(prefix), onError: (error) => errors.push(error) })
  const [here, there] = [make(slow, 'a'), make(shared, 'b')]
  await Promise.all([here.ready, there.ready])
  await here.createSession({ id: 's' })
  const published: { seq: number; id: string }[] = []
  here.on(({ events }) => published.push(...events))

  const before = (await shared.read({ sessionId: 's', limit: 100 })).length
  isLate = true
  const late = here.report({ sessionId: 's', events: [{ type: 'text', blockId: 'old', text: 'old' }] })
  await expect.poll(() => answered).not.toBeNull()
  await there.deleteSession('s')
  await there.createSession({ id: 's' })
  const log = await shared.read({ sessionId: 's', limit: 100 })
  expect(log).toHaveLength(before)
  await here.refresh('s')
  published.length = 0
  answered!()
  await late
  await tick()
  const ids = (await shared.read({ sessionId: 's', limit: 100 })).map(({ id }) => id)
  expect(published.filter(({ id }) => !ids.includes(id))).toEqual([])
  await here.refresh('s')
  await here.report({ sessionId: 's', events: [{ type: 'text', blockId: 'new', text: 'new' }] })
  expect(published).toMatchObject([{ text: 'new' }])
  expect(errors).toEqual([])
})
