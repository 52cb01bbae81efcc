import { createClient, DirectTransport } from '@askback/client'
import { fakeClock } from '@askback/client/testing'
import { createDesk, createHost, memoryStore, type Host } from '@askback/core'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it, vi } from 'vitest'

const SESSIONS = 50
const TEXTS_PER_SESSION = 50
const LONG_TEXT = 'a word or two '.repeat(150)

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

it('a session store that lost its listeners is released', async () => {
  const store = memoryStore()
  const host = createHost({ desk: createDesk({ store }), onError: () => undefined })
  const ids = await Promise.all(Array.from({ length: SESSIONS }, () => longSession(host)))
  const clock = fakeClock()
  const client = createClient(new DirectTransport(host, { actor: { id: 'me' } }), { clock })

  async function openAndLeave(sessionId: string): Promise<void> {
    const session = client.session(sessionId)
    const leave = session.subscribe(() => undefined)
    await vi.waitFor(() => expect(session.getSnapshot().connection).toBe('live'), {
      interval: 1,
      timeout: 60_000,
    })
    expect(session.getSnapshot().layout?.turns).not.toHaveLength(0)
    leave()
    clock.advance(10_000)
  }

  for (const id of ids.slice(0, 10)) await openAndLeave(id)
  const afterTen = heapUsed()
  for (const id of ids.slice(10)) await openAndLeave(id)
  const grown = heapUsed() - afterTen

  // If forty sessions stayed in memory, the copies of their texts alone would need more.
  expect(grown).toBeLessThan((40 * TEXTS_PER_SESSION * LONG_TEXT.length) / 4)
  client.close()
  await host.close()
  await store.close()
})

async function longSession(host: Host): Promise<string> {
  const { session } = await host.createSession({ agent: null })
  const events = Array.from({ length: TEXTS_PER_SESSION }, (_, n) => ({
    type: 'text' as const,
    blockId: `b${n}`,
    text: `${n} ${LONG_TEXT}`,
  }))
  await host.desk.report({ sessionId: session.id, events })
  await host.snapshot(session.id)
  return session.id
}

function heapUsed(): number {
  collectGarbage()
  collectGarbage()
  return process.memoryUsage().heapUsed
}
