import { AskbackError } from '@askback/protocol'
import { expect, it } from 'vitest'
import { createDesk, memoryStore, type Store } from '../index.js'
import { countingIds, fakeClock } from '../testing/fake-clock.js'
import { ada, listFiles, tick, waiting, yes } from './test-desk.test.helper.js'

it('[L10] an approval whose claim was written, although its reply was lost, is returned and is not in doubt', async () => {
  const shared: Store = { ...memoryStore(), shared: true }
  const clock = fakeClock()
  let loses = true
  const lossy: Store = {
    ...shared,
    append: async (append) => {
      const result = await shared.append(append)
      if (!loses || append.events[0]!.type !== 'interaction_delivered') return result
      loses = false
      throw new AskbackError('unavailable', 'The reply was lost.')
    },
  }
  const make = (store: Store, prefix: string) =>
    createDesk({ store, clock, newId: countingIds(prefix), onError: () => undefined })
  const [here, there] = [make(lossy, 'a'), make(shared, 'b')]
  await Promise.all([here.ready, there.ready])
  await here.createSession({ id: 's' })
  const { interaction } = await here.open({ sessionId: 's', kind: 'approval', request: listFiles })
  const { interactionId } = interaction
  const { settlement } = await waiting(here, interactionId)
  await there.as(ada).respond({ interactionId, answer: yes })
  for (let turn = 0; turn < 5; turn++) {
    await tick()
    clock.advance(1000)
  }
  expect(await settlement).toMatchObject({ settlement: 'approved', inDoubt: false })
  const log = await shared.read({ sessionId: 's', limit: 100 })
  expect(log.filter(({ type }) => type === 'interaction_delivered')).toHaveLength(1)
})
