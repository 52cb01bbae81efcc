import { constants } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { serve } from '../e2e/http/gateways.js'
import { workFolder } from './bundle.js'
import { buildShim, DiskShim } from './disk-shim.js'

const work = workFolder()
let library: string
beforeAll(() => {
  library = buildShim(work.folder)
})
afterAll(work.remove)

it('a gateway whose disk is full is not ready, loses nothing, and recovers by itself', async () => {
  const shim = new DiskShim(library, join(work.folder, 'counters'))
  const gateway = await serve({
    data: join(work.folder, 'data'),
    env: shim.env,
  })
  const readiness = async () => (await fetch(`${gateway.ready.url}/readyz`)).status
  const item = await gateway.open(await gateway.session())
  expect(await readiness()).toBe(200)
  shim.set('failWrite', constants.errno.ENOSPC)
  await expect.poll(readiness).toBe(503)
  const { status } = await gateway.call('POST', `/api/sessions/${item.sessionId}/messages`, {
    body: { text: 'x', route: 'agent' },
  })
  expect(status).toBe(503)
  shim.set('failWrite', 0)
  await expect.poll(readiness).toBe(200)
  const read = await gateway.call('GET', `/api/sessions/${item.sessionId}/interactions/${item.interactionId}`)
  expect(read.body).toMatchObject({ interaction: { status: 'pending' } })
})
