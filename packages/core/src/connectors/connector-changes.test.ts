import { expect, it } from 'vitest'
import { createHost } from '../agents/host.js'
import { createDesk } from '../desk/desk.js'
import { memoryStore } from '../store/memory-store.js'
import type { Change, Store } from '../store/store.js'
import { memorySurface } from '../testing/connector-memory.js'
import { fakeClock } from '../testing/fake-clock.js'
import { connectorDesk } from './connector-desk.js'
import { runConnector } from './connector-runner.js'

const me = { by: { id: 'me' }, via: 'direct' } as const

/** A chat on a store whose changes are what `changes` makes of them. Time stands still: nobody polls. */
async function chat(changes: (page: Change[]) => Change[]) {
  const base = memoryStore()
  const store: Store = { ...base, changes: async (query) => changes(await base.changes(query)) }
  const onError = (error: unknown) => expect.fail(String(error))
  const desk = createDesk({ store })
  const host = createHost({ desk, onError })
  const surface = memorySurface()
  const running = runConnector({
    connector: surface.make(),
    desk: connectorDesk(host, store),
    clock: fakeClock(),
    onError,
  })
  await running.ready
  await running.line.setPlace(surface.place, { sessions: 'all' })
  const open = () => desk.open({ sessionId: 's', kind: 'approval', toolName: 'T', request: { input: {} } })
  const cards = async () => (await surface.screen()).cards.length
  return { desk, open, cards, stop: () => running.stop() }
}

it('shows everything though pages of changes are shorter than asked for', async () => {
  let isHeld = true
  const { desk, open, cards, stop } = await chat((page) => (isHeld ? [] : page.slice(0, 1)))
  await desk.createSession({ id: 's' })
  await open()
  await open()
  isHeld = false
  // One doorbell for all that came before.
  await desk.report({ sessionId: 's', events: [{ type: 'turn_started', turnId: 't' }] })
  await expect.poll(cards).toBe(2)
  await stop()
})

it('closes the cards of a session that was erased before its end was read', async () => {
  const { desk, open, cards, stop } = await chat((page) =>
    // As a shared store has it: an erasure is a change, and what came before it is gone.
    page.map((change) => (change.sessionId === 's' && isErased ? { ...change, events: [] } : change)),
  )
  let isErased = false
  await desk.createSession({ id: 's' })
  await desk.createSession({ id: 'other' })
  await open()
  await expect.poll(cards).toBe(1)
  isErased = true
  await desk.deleteSession('s', me)
  await desk.report({ sessionId: 'other', events: [{ type: 'turn_started', turnId: 't' }] })
  await expect.poll(cards).toBe(0)
  await stop()
})
