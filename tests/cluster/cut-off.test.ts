import type { Interaction } from '@askback/protocol'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { at, sqlite, type RunningGateway } from '../e2e/http/gateways.js'
import { FaultyProxy } from '../transports/faulty-proxy.js'
import { Bed } from './bed.js'

/** As long as a lease is, so old may reads be that need not be fresh. */
const LEASE_MS = 2000

let bed: Bed
let proxy: FaultyProxy
/** Reaches the database directly. */
let well: RunningGateway
/** Reaches it through the proxy. */
let cutOff: RunningGateway

beforeAll(async () => {
  bed = await Bed.start({ gateways: 0, leaseMs: LEASE_MS })
})
beforeEach(async () => {
  proxy = new FaultyProxy(Number(new URL(bed.postgres.url()).port))
  well = await bed.add()
  cutOff = await bed.add({ port: Number(new URL(await proxy.listen()).port) })
})
afterEach(async () => {
  bed.gateways.splice(0)
  await proxy.close()
})
afterAll(() => bed.end())

const readiness = async ({ ready }: RunningGateway) => (await fetch(`${ready.url}/readyz`)).status

/** What a gateway says of an interaction: how it stands, or the status of the error. */
async function says(gateway: RunningGateway, item: Interaction, query = ''): Promise<string> {
  const path = `${at(item)}${query}`
  const { status, body } = await gateway.call<{ interaction: Interaction }>('GET', path)
  return status === 200 ? body.interaction.status : String(status)
}

describe('a gateway that is cut off from the database', () => {
  it.each([
    ['whose connections are refused', (is: boolean) => proxy.offline(is)],
    ['whose connections hang', (is: boolean) => proxy.freeze(is)],
  ])('%s never tells old news as new, is not ready, and recovers by itself', async (_, cut) => {
    const item = await well.open(await well.session())
    expect(await says(cutOff, item)).toBe('pending')
    expect(await readiness(cutOff)).toBe(200)
    const polling = says(cutOff, item, '?wait=2')
    cut(true)
    expect((await well.call('POST', `${at(item)}/response`, { body: sqlite })).status).toBe(200)
    const later = new Promise((resolve) => setTimeout(resolve, LEASE_MS + 500))
    const session = later.then(() => cutOff.call('GET', `/api/sessions/${item.sessionId}`))
    const told = [says(cutOff, item), polling, later.then(() => says(cutOff, item, '?fresh=0'))]
    expect(await Promise.all(told)).toEqual(['503', '503', '503'])
    expect((await session).status).toBe(503)
    expect((await session).headers.get('retry-after')).not.toBeNull()
    expect(await readiness(cutOff)).toBe(503)
    cut(false)
    await expect.poll(() => readiness(cutOff)).toBe(200)
    await expect.poll(() => says(cutOff, item)).toBe('settled')
    await expect.poll(() => says(cutOff, item, '?fresh=0')).toBe('settled')
  })
})
