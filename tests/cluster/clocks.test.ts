import type { Interaction, SessionEvent } from '@askback/protocol'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { at, question, run, sqlite, type RunningGateway } from '../e2e/http/gateways.js'
import { clockOf, jumpClock } from '../e2e/http/set-clock.js'
import { newFolder } from '../e2e/http/command.js'
import { TestCluster } from './test-cluster.js'

const AHEAD_MS = 90_000
/** The error that the measurements of two gateways may have together, on a busy machine. Their clocks differ by much more. */
const ERROR_MS = 3000

let cluster: TestCluster
let slow: RunningGateway
let fast: RunningGateway

beforeAll(async () => {
  cluster = await TestCluster.start({ gateways: 0, leaseMs: 5000 })
})
afterAll(() => cluster.end())
beforeEach(async () => {
  slow = await cluster.add({ env: clockOf({ aheadMs: -AHEAD_MS, jumpMs: 2 * AHEAD_MS }) })
  fast = await cluster.add({ env: clockOf({ aheadMs: AHEAD_MS, jumpMs: -AHEAD_MS }) })
})
afterEach(() => cluster.gateways.splice(0))

describe('[L5] gateways whose clocks are three minutes apart', () => {
  it('give a request the time of the database, at either gateway', async () => {
    for (const [opener, other] of [
      [slow, fast],
      [fast, slow],
    ] as const) {
      const before = await cluster.now()
      const item = await open(opener, 60_000)
      expect(item.expiresAt! - item.requestedAt).toBe(60_000)
      expect(item.requestedAt).toBeGreaterThan(before - ERROR_MS)
      expect(item.requestedAt).toBeLessThan((await cluster.now()) + ERROR_MS)
      const { body } = await other.call<{ interaction: Interaction }>('GET', at(item))
      expect(body.interaction).toMatchObject({ status: 'pending' })
      expect((await other.call('POST', `${at(item)}/response`, { body: sqlite })).status).toBe(200)
    }
  })

  it('time out requests on time and not earlier', async () => {
    const before = await cluster.now()
    const items = [await open(slow, 7000), await open(fast, 7000)]
    const seenAt = items.flatMap((item) =>
      [slow, fast].map(async (gateway) => {
        await expect.poll(() => read(gateway, item)).toMatchObject({ settlement: 'timed_out' })
        return cluster.now()
      }),
    )
    for (const seen of await Promise.all(seenAt)) expect(seen).toBeGreaterThan(before + 7000 - ERROR_MS)
    for (const item of items)
      expect((await read(fast, item)).settledAt).toBeGreaterThanOrEqual(item.expiresAt!)
  })

  it('write times that never run backwards in one log', async () => {
    const id = await slow.session()
    for (let round = 0; round < 5; round++)
      for (const gateway of [fast, slow]) {
        const body = { text: `round ${round}` }
        expect((await gateway.call('POST', `/api/sessions/${id}/messages`, { body })).status).toBe(202)
      }
    const times = (await events(slow, id)).map((event) => event.at)
    expect(times.length).toBeGreaterThan(10)
    expect(times).toEqual(times.toSorted((one, other) => one - other))
    expect(times.at(-1)! - times[0]!).toBeLessThan(AHEAD_MS)
  })
})

describe('a gateway whose clock differs from the database’s', () => {
  it('says so once in its log, in its metrics and in doctor, until the clock is correct', async () => {
    expect(Math.abs((await offset(slow)) * 1000 + AHEAD_MS)).toBeLessThan(ERROR_MS)
    expect(Math.abs((await offset(fast)) * 1000 - AHEAD_MS)).toBeLessThan(ERROR_MS)
    await expect.poll(() => doctor(fast)).toMatch(/– clock +is \d+\.\d s ahead of the database/)
    await expect.poll(() => doctor(slow)).toMatch(/– clock +is \d+\.\d s behind the database/)
    await expect
      .poll(() => warnings(fast))
      .toMatchObject([{ level: 40, msg: expect.stringContaining('ahead of') as unknown }])
    await expect.poll(() => warnings(slow)).toHaveLength(1)
    jumpClock(fast)
    await expect.poll(() => warnings(fast)).toHaveLength(2)
    expect(warnings(fast)[1]).toMatchObject({ msg: expect.stringContaining('agrees') as unknown })
    // Each measurement is as exact as the machine is idle.
    await expect.poll(async () => Math.abs(await offset(fast))).toBeLessThan(1)
    await expect.poll(() => doctor(fast)).toMatch(/✓ clock +differs by 0\.\d+ s/)
    expect(warnings(slow)).toHaveLength(1)
  })

  it('does not follow a jump of its own clock', async () => {
    const item = await open(slow, 60_000)
    jumpClock(slow)
    await expect.poll(async () => Math.abs((await offset(slow)) * 1000 - AHEAD_MS)).toBeLessThan(ERROR_MS)
    const before = await cluster.now()
    const { body } = await slow.call<{ now: number }>('GET', `/api/sessions/${item.sessionId}`)
    expect(body.now).toBeGreaterThan(before - ERROR_MS)
    expect(body.now).toBeLessThan((await cluster.now()) + ERROR_MS)
    expect(await read(slow, item)).toMatchObject({ status: 'pending' })
    expect((await slow.call('POST', `${at(item)}/response`, { body: sqlite })).status).toBe(200)
  })
})

async function open(gateway: RunningGateway, timeoutMs: number): Promise<Interaction> {
  const id = await gateway.session()
  const { body } = await gateway.call<{ interaction: Interaction }>(
    'POST',
    `/api/sessions/${id}/interactions`,
    { body: { ...question, timeoutMs }, as: gateway.ready.agentToken },
  )
  return body.interaction
}

async function read(gateway: RunningGateway, item: Interaction): Promise<Interaction> {
  return (await gateway.call<{ interaction: Interaction }>('GET', at(item))).body.interaction
}

async function events(gateway: RunningGateway, id: string): Promise<SessionEvent[]> {
  const response = await fetch(`${gateway.ready.url}/api/sessions/${id}/events?limit=1000`, {
    headers: { authorization: `Bearer ${gateway.ready.token}`, accept: 'application/json' },
  })
  return ((await response.json()) as { events: SessionEvent[] }).events
}

async function offset({ ready }: RunningGateway): Promise<number> {
  const response = await fetch(`${ready.url}/api/metrics`, {
    headers: { authorization: `Bearer ${ready.token}` },
  })
  return Number(/^askback_clock_offset_seconds (\S+)$/m.exec(await response.text())?.[1])
}

/** It leaves out a gateway’s clock if that does not answer in five seconds. */
async function doctor({ data }: RunningGateway): Promise<string> {
  const command = run(['doctor', '--data', data], { HOME: newFolder(), PATH: '/nowhere' })
  await command.ended
  return command.stdout
}

function warnings({ command }: RunningGateway): { level: number; msg: string }[] {
  return command.stderr
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as { level: number; msg: string })
    .filter(({ msg }) => msg.includes('clock'))
}
