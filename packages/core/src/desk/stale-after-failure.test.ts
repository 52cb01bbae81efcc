import { AskbackError } from '@askback/protocol'
import { expect, it } from 'vitest'
import { createDesk, memoryStore, type Store } from '../index.js'
import { countingIds, fakeClock } from '../testing/fake-clock.js'
import { ada, isOver, listFiles, tick, yes } from './test-desk.test.helper.js'

it('a session whose new events could not be read is not returned as current until they are', async () => {
  const shared: Store = { ...memoryStore(), shared: true }
  const clock = fakeClock()
  let reads: 'work' | 'fail' | 'hang' = 'work'
  const cut: Store = {
    ...shared,
    read: (query) => {
      if (reads === 'work') return shared.read(query)
      if (reads === 'hang') return new Promise(() => undefined)
      return Promise.reject(new AskbackError('unavailable', 'The database is away.'))
    },
    onAppend: () => () => undefined,
  }
  const make = (store: Store, prefix: string) =>
    createDesk({ store, clock, newId: countingIds(prefix), onError: () => undefined })
  const [here, there] = [make(cut, 'a'), make(shared, 'b')]
  await Promise.all([here.ready, there.ready])
  await here.createSession({ id: 's' })
  const { interaction } = await here.open({ sessionId: 's', kind: 'approval', request: listFiles })
  const { interactionId } = interaction
  await there.as(ada).respond({ interactionId, answer: yes })
  reads = 'fail'
  const states: string[] = []
  for (let second = 0; second < 60; second++) {
    clock.advance(1000)
    for (let turn = 0; turn < 4; turn++) await tick()
    if (second === 40) reads = 'hang'
    if (second <= 41) continue
    const read = here.snapshot('s').then(
      ({ state }) => states.push(state.pending.length > 0 ? 'pending' : 'settled'),
      () => states.push('refused'),
    )
    await isOver(read)
  }
  // The answer was given a minute ago.
  expect(states).not.toContain('pending')
})
