import { createDesk, createHost, memoryStore } from '@askback/core'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { DeskRequests } from './desk-requests.js'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

it('a wait ends in time although garbage is collected meanwhile', async () => {
  const onError = (error: unknown) => expect.unreachable(String(error))
  const host = createHost({ desk: createDesk({ store: memoryStore(), onError }), onError })
  const never = new AbortController().signal
  const requests = new DeskRequests({
    host,
    credential: { kind: 'agent', id: 'agents' },
    mcpSession: 'tester.',
    clientName: 'tester',
    checkSession: () => Promise.resolve(),
    cancelled: never,
    ended: never,
    takesAnswers: false,
  })
  const item = await requests.open({ kind: 'plan_review', toolName: 'review_plan', request: { plan: 'Go.' } })
  const collects = setInterval(collectGarbage, 10)
  const found = await requests.wait(item, { ms: 200, signal: never, isCancelledBySignal: true })
  clearInterval(collects)
  expect(found).toMatchObject({ interactionId: item.interactionId, status: 'pending' })
  await host.close()
})
