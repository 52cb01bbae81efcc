import type { Json } from '@askback/protocol'
import { expect, it } from 'vitest'
import { createHost } from '../agents/host.js'
import { testDesk } from '../desk/test-desk.test.helper.js'
import { memoryStore } from '../store/memory-store.js'
import { memorySurface } from '../testing/connector-memory.js'
import { connectorDesk } from './connector-desk.js'
import { runConnector } from './connector-runner.js'

it('shows a card again that may not have arrived before a crash, under the same id', async () => {
  const store = memoryStore()
  const { desk, open, errors } = await testDesk({ store })
  const onError = (error: unknown) => errors.push(error)
  const host = createHost({ desk, onError })
  const surface = memorySurface()
  const run = () => runConnector({ connector: surface.make(), desk: connectorDesk(host, store), onError })
  const first = run()
  await first.ready
  await first.line.setPlace('here', { sessions: 'all' })
  await open('approval', { input: { command: 'ls' } })
  await expect.poll(() => surface.messages.length).toBe(1)
  const [sent] = surface.messages
  await first.stop()
  // As it is when the process ends between sending and writing down what was sent.
  const [entry] = await store.kv.list('connector/memory/card/')
  await store.kv.put(
    entry!.key,
    { ...(entry!.value as { [key: string]: Json }), shown: null },
    entry!.version,
  )

  const second = run()
  await expect.poll(() => surface.messages.length).toBe(2)
  expect(surface.messages[1]!.card!.cardId).toBe(sent!.card!.cardId)
  const told = await second.line.tap({
    place: 'here',
    cardId: sent!.card!.cardId,
    control: 'approve',
    by: { id: 'ada' },
  })
  expect(told.ok).toBe(true)
  await second.stop()
  expect(errors).toEqual([])
})
