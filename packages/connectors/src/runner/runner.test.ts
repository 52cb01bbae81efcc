import { memoryStore, type Change, type Store } from '@askback/core'
import { fakeClock } from '@askback/core/testing'
import type { Json } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { connectorContract } from '../testing/connector-contract.js'
import { memorySurface } from '../testing/memory-surface.js'
import { testConnector } from './test-connector.test.helper.js'

connectorContract('a surface in memory', async () => memorySurface())

it('shows a card again under the same id if it is unknown whether it arrived before a crash', async () => {
  const { store, surface, running, run, open } = await testConnector()
  await open('approval', { input: { command: 'ls' } })
  await expect.poll(() => surface.messages.length).toBe(1)
  const [sent] = surface.messages
  await running.stop()
  // The record as it is if the process ends after sending the card and before saving that it was sent.
  const [entry] = await store.kv.list('connector/memory/card/')
  await store.kv.put(
    entry!.key,
    { ...(entry!.value as { [key: string]: Json }), shown: null },
    entry!.version,
  )

  const second = run()
  await expect.poll(() => surface.messages.length).toBe(2)
  expect(surface.messages[1]!.card!.cardId).toBe(sent!.card!.cardId)
  const result = await second.context.tap({
    place: 'here',
    cardId: sent!.card!.cardId,
    control: 'approve',
    by: { id: 'ada' },
  })
  expect(result.ok).toBe(true)
})

describe('reading changes', () => {
  const approval = { input: {} }

  /** The pages of changes are passed through `changePage`. The clock stands still, so only doorbells cause reads. */
  async function connectorReading(changePage: (page: Change[]) => Change[]) {
    const base = memoryStore()
    const store: Store = { ...base, changes: async (query) => changePage(await base.changes(query)) }
    const { desk, surface, open } = await testConnector({ store, clock: fakeClock() })
    const openCards = async () => (await surface.screen()).cards.length
    return { desk, open: () => open('approval', approval), openCards }
  }

  it('shows everything although pages of changes are shorter than asked for', async () => {
    let isHeldBack = true
    const { desk, open, openCards } = await connectorReading((page) => (isHeldBack ? [] : page.slice(0, 1)))
    await open()
    await open()
    isHeldBack = false
    // One doorbell for all changes before it.
    await desk.report({ sessionId: 's', events: [{ type: 'turn_started', turnId: 't' }] })
    await expect.poll(openCards).toBe(2)
  })

  it('closes a card by the event that says that nothing is pending, which may come apart from the response', async () => {
    const { desk, open, openCards } = await connectorReading((page) =>
      page.map((change) => ({
        ...change,
        events: change.events.filter(({ type }) => type !== 'interaction_response'),
      })),
    )
    const { interactionId } = await open()
    await expect.poll(openCards).toBe(1)
    await desk.as({ via: 'direct' }).respond({ interactionId, answer: { decision: 'deny' } })
    await expect.poll(openCards).toBe(0)
  })

  it('closes the cards of a session that was erased before its last events were read', async () => {
    let isErased = false
    const { desk, open, openCards } = await connectorReading((page) =>
      // A shared store reports an erasure as a change without events, and the events before it are gone.
      page.map((change) => (change.sessionId === 's' && isErased ? { ...change, events: [] } : change)),
    )
    await desk.createSession({ id: 'other' })
    await open()
    await expect.poll(openCards).toBe(1)
    isErased = true
    await desk.as({ by: { id: 'me' }, via: 'direct' }).deleteSession('s')
    await desk.report({ sessionId: 'other', events: [{ type: 'turn_started', turnId: 't' }] })
    await expect.poll(openCards).toBe(0)
  })
})
