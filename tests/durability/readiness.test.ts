import { openSync, writeFileSync, writeSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { serve } from '../e2e/http/gateways.js'
import { buildShim, workFolder } from './preparation.js'

/** The place of a counter in the file that the preloaded library reads. */
const FAIL_WRITE = 3

const work = workFolder()
let shim: string
beforeAll(() => {
  shim = buildShim(work.folder)
})
afterAll(work.remove)

it('a gateway whose disk is full is not ready, keeps what it has, and recovers by itself', async () => {
  const counters = join(work.folder, 'counters')
  writeFileSync(counters, Buffer.alloc(64))
  const file = openSync(counters, 'r+')
  const failWrites = (errno: number) => {
    const bytes = Buffer.alloc(4)
    bytes.writeInt32LE(errno)
    writeSync(file, bytes, 0, 4, FAIL_WRITE * 4)
  }
  const gateway = await serve({
    data: join(work.folder, 'data'),
    env: { LD_PRELOAD: shim, DISK_SHIM_COUNTERS: counters },
  })
  const readiness = async () => (await fetch(`${gateway.ready.url}/readyz`)).status
  const item = await gateway.open(await gateway.session())
  expect(await readiness()).toBe(200)
  failWrites(constants.errno.ENOSPC)
  await expect.poll(readiness).toBe(503)
  const { status } = await gateway.call('POST', `/api/sessions/${item.sessionId}/messages`, {
    body: { text: 'x', route: 'agent' },
  })
  expect(status).toBe(503)
  failWrites(0)
  await expect.poll(readiness).toBe(200)
  const read = await gateway.call('GET', `/api/sessions/${item.sessionId}/interactions/${item.interactionId}`)
  expect(read.body).toMatchObject({ interaction: { status: 'pending' } })
})
