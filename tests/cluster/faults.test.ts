import { setTimeout as delay } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { clockOf } from '../e2e/http/set-clock.js'
import { FaultyProxy } from '../transports/faulty-proxy.js'
import { TestCluster, LEASE_MS } from './test-cluster.js'
import { findContradictions } from './log-check.js'
import { Load } from './load.js'
import { StreamFollowers } from './stream-followers.js'

type CauseFault = (cluster: TestCluster, random: () => number) => Promise<void>

const randomGateway = (cluster: TestCluster, random: () => number) =>
  cluster.gateways[Math.floor(random() * cluster.gateways.length)]!

/** Each restores the cluster in the end. */
const faults: Record<string, CauseFault> = {
  'a gateway is killed': async (cluster, random) => {
    await cluster.kill(randomGateway(cluster, random))
    await cluster.add()
  },
  'PostgreSQL crashes and restarts': (cluster) => cluster.restartPostgres(),
  'a gateway freezes for longer than its lease': async (cluster, random) => {
    const gateway = randomGateway(cluster, random)
    cluster.freeze(gateway)
    await delay(LEASE_MS * 1.5)
    cluster.thaw(gateway)
  },
  'all connections are lost': (cluster) => cluster.dropConnections(),
  'the disk is slow': async (cluster) => {
    await cluster.slowDisk(50)
    await delay(1000)
    await cluster.slowDisk(0)
  },
  'the database stalls': (cluster) => cluster.stall(3000),
  'a gateway receives no doorbells': async () => {
    listening.freeze(true)
    await delay(4000)
    listening.freeze(false)
  },
}

/** Between the database and one gateway's connection that listens. */
let listening: FaultyProxy

/** bench/postgres/soak.mjs runs this test for hours, with these settings. */
const {
  ASKBACK_FAULT_MINUTES: minutes = '0',
  ASKBACK_FAULT_EVERY: everySeconds = '0',
  ASKBACK_FAULT_CLIENTS: clients = '8',
  ASKBACK_FAULT_PAUSE: pauseMs = '0',
  ASKBACK_FAULT_SHARING: sharing = '4',
  ASKBACK_FAULT_SEED: seed = '20261116',
} = process.env
const CLIENTS = Number(clients)
const ROUNDS = Object.keys(faults).length
const durationMs = Number(minutes) * 60_000

it(
  'faults under load lose or repeat nothing that was acknowledged',
  async () => {
    const random = randomFrom(Number(seed))
    const cluster = await TestCluster.start({ gateways: 0 })
    onTestFinished(() => cluster.end())
    listening = new FaultyProxy(Number(new URL(cluster.postgres.url()).port))
    onTestFinished(() => listening.close())
    await cluster.add({ env: clockOf({ aheadMs: 90_000 }) })
    await cluster.add({ listenPort: Number(new URL(await listening.listen()).port) })
    await cluster.add({ env: clockOf({ aheadMs: -90_000 }) })
    const load = new Load(() => cluster.gateways, random, {
      pauseMs: Number(pauseMs),
      sharing: Number(sharing),
    })
    const followers = new StreamFollowers(() => cluster.gateways, random)
    load.onSession = (sessionId) => followers.add(sessionId)
    const running = load.run(CLIENTS).catch((error: unknown) => error)
    const done = () => load.questions.filter(({ received }) => received !== undefined).length
    const end = Date.now() + durationMs
    let round = 0
    for (; round < ROUNDS || Date.now() < end; round++) {
      const before = done()
      await expect.poll(done).toBeGreaterThan(before + CLIENTS)
      await delay(Number(everySeconds) * 1000)
      const [name, fault] = Object.entries(faults)[round % ROUNDS]!
      await fault(cluster, random)
      if (durationMs > 0) log(`${round + 1}: ${name}; ${done()} answers so far`)
    }
    const after = done()
    await expect.poll(done).toBeGreaterThan(after + CLIENTS)
    load.stop()
    expect(await running).toBeUndefined()
    if (durationMs > 0) log(`${round} faults, ${load.questions.length} questions, ${done()} answers received`)
    expect(await findContradictions(cluster.postgres.url(), load.questions)).toEqual([])
    expect(load.questions.filter(({ received }) => received === undefined)).toEqual([])
    expect(load.forgotten).toEqual([])
    const behind = async () => {
      const rows = await cluster.sql<{ id: string; seq: string }>('SELECT id, seq FROM askback.sessions')
      return rows.filter(({ id, seq }) => followers.seen.get(id) !== Number(seq))
    }
    await expect.poll(behind).toEqual([])
    expect(followers.problems).toEqual([])
    await followers.stop()
  },
  240_000 + durationMs * 1.5,
)

function log(line: string): void {
  process.stdout.write(`${new Date().toISOString()} ${line}\n`)
}

/** A generator with a seed, so that a failure can be repeated. */
function randomFrom(from: number): () => number {
  let state = from
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return state / 2 ** 32
  }
}
