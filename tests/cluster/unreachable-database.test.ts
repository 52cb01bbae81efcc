import type { Interaction } from '@askback/protocol'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { at, sqlite, type RunningGateway } from '../e2e/http/gateways.js'
import { FaultyProxy } from '../transports/faulty-proxy.js'
import { TestCluster } from './test-cluster.js'

/** Reads that need not be fresh may be as old as a lease. */
const LEASE_MS = 2000

let cluster: TestCluster
let proxy: FaultyProxy
/** Reaches the database directly. */
let connected: RunningGateway
/** Reaches it through the proxy. */
let disconnected: RunningGateway

beforeAll(async () => {
  cluster = await TestCluster.start({ gateways: 0, leaseMs: LEASE_MS })
})
beforeEach(async () => {
  proxy = new FaultyProxy(Number(new URL(cluster.postgres.url()).port))
  connected = await cluster.add()
  disconnected = await cluster.add({ port: Number(new URL(await proxy.listen()).port) })
})
afterEach(async () => {
  cluster.gateways.splice(0)
  await proxy.close()
})
afterAll(() => cluster.end())

const readiness = async ({ ready }: RunningGateway) => (await fetch(`${ready.url}/readyz`)).status

/** The status of an interaction at a gateway, or the HTTP status of the error. */
async function statusAt(gateway: RunningGateway, item: Interaction, query = ''): Promise<string> {
  const path = `${at(item)}${query}`
  const { status, body } = await gateway.call<{ interaction: Interaction }>('GET', path)
  return status === 200 ? body.interaction.status : String(status)
}

describe('a gateway that cannot reach the database', () => {
  it.each([
    ['whose connections are refused', (is: boolean) => proxy.offline(is)],
    ['whose connections hang', (is: boolean) => proxy.freeze(is)],
  ])('%s returns no outdated state, is not ready, and recovers by itself', async (_, disconnect) => {
    const item = await connected.open(await connected.session())
    expect(await statusAt(disconnected, item)).toBe('pending')
    expect(await readiness(disconnected)).toBe(200)
    const polling = statusAt(disconnected, item, '?wait=2')
    disconnect(true)
    expect((await connected.call('POST', `${at(item)}/response`, { body: sqlite })).status).toBe(200)
    const later = new Promise((resolve) => setTimeout(resolve, LEASE_MS + 500))
    const session = later.then(() => disconnected.call('GET', `/api/sessions/${item.sessionId}`))
    const replies = [
      statusAt(disconnected, item),
      polling,
      later.then(() => statusAt(disconnected, item, '?fresh=0')),
    ]
    expect(await Promise.all(replies)).toEqual(['503', '503', '503'])
    expect((await session).status).toBe(503)
    expect((await session).headers.get('retry-after')).not.toBeNull()
    await expect.poll(() => readiness(disconnected)).toBe(503)
    disconnect(false)
    await expect.poll(() => readiness(disconnected)).toBe(200)
    await expect.poll(() => statusAt(disconnected, item)).toBe('settled')
    await expect.poll(() => statusAt(disconnected, item, '?fresh=0')).toBe('settled')
  })
})
