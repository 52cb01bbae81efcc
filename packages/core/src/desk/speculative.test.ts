import { expect, it } from 'vitest'
import { Committed } from './committed.js'
import { loadState, Speculative } from './speculative.js'
import { testDesk } from './test-desk.test.helper.js'

it('saves a snapshot only of a state that is durable up to its last event', async () => {
  const { desk, store } = await testDesk()
  await desk.report({ sessionId: 's', events: [{ type: 'turn_started', turnId: 't' }] })
  const committed = new Committed('s', {
    store,
    advanced: () => undefined,
    gone: () => undefined,
    idle: () => undefined,
    now: () => 0,
    onError: (error) => {
      throw error
    },
  })
  const loaded = await loadState(store, 's', null)
  const { seq, logId } = loaded!.state
  const log = new Speculative(store, committed, loaded!)
  const [before] = await store.read({ sessionId: 's', after: seq - 2, limit: 1 })
  committed.begin({ logId, seq: before!.seq, id: before!.id }, 0)
  await log.saveSnapshot()
  expect(await store.loadSnapshot('s')).toBeNull()
  committed.begin({ logId, seq, id: loaded!.headId! }, 0)
  await log.saveSnapshot()
  expect(await store.loadSnapshot('s')).toMatchObject({ seq, state: { headId: loaded!.headId } })
})
