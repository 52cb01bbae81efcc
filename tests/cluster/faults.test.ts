import { setTimeout as delay } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { clockOf } from '../e2e/http/set-clock.js'
import { FaultyProxy } from '../transports/faulty-proxy.js'
import { Bed, LEASE_MS } from './bed.js'
import { contradictions } from './check.js'
import { Load } from './load.js'
import { Watchers } from './watchers.js'

type Fault = (bed: Bed, random: () => number) => Promise<void>

const some = (bed: Bed, random: () => number) => bed.gateways[Math.floor(random() * bed.gateways.length)]!

/** Each leaves the bed as it was. */
const faults: Record<string, Fault> = {
  'a gateway is killed': async (bed, random) => {
    await bed.kill(some(bed, random))
    await bed.add()
  },
  'PostgreSQL crashes and restarts': (bed) => bed.restartPostgres(),
  'a gateway freezes for longer than its lease': async (bed, random) => {
    const gateway = some(bed, random)
    bed.freeze(gateway)
    await delay(LEASE_MS * 1.5)
    bed.thaw(gateway)
  },
  'all connections are cut': (bed) => bed.cutConnections(),
  'the disk is slow': async (bed) => {
    await bed.slowDisk(50)
    await delay(1000)
    await bed.slowDisk(0)
  },
  'the database stalls': (bed) => bed.stall(3000),
  'a gateway hears no doorbell': async () => {
    listening.freeze(true)
    await delay(4000)
    listening.freeze(false)
  },
}

/** Between one of the gateways and the database, for the connection that listens. */
let listening: FaultyProxy

/** By hand for hours, at a pace: see bench/postgres. */
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
const lastingMs = Number(minutes) * 60_000

it(
  'nothing that was acknowledged is lost or counts twice, whatever fails under load',
  async () => {
    const random = draw(Number(seed))
    const bed = await Bed.start({ gateways: 0 })
    onTestFinished(() => bed.end())
    listening = new FaultyProxy(Number(new URL(bed.postgres.url()).port))
    onTestFinished(() => listening.close())
    await bed.add({ env: clockOf({ aheadMs: 90_000 }) })
    await bed.add({ listenPort: Number(new URL(await listening.listen()).port) })
    await bed.add({ env: clockOf({ aheadMs: -90_000 }) })
    const load = new Load(() => bed.gateways, random, { pauseMs: Number(pauseMs), sharing: Number(sharing) })
    const watchers = new Watchers(() => bed.gateways, random)
    load.onSession = (sessionId) => watchers.add(sessionId)
    const running = load.run(CLIENTS).catch((error: unknown) => error)
    const done = () => load.asked.filter(({ received }) => received !== undefined).length
    const end = Date.now() + lastingMs
    let round = 0
    for (; round < ROUNDS || Date.now() < end; round++) {
      const before = done()
      await expect.poll(done).toBeGreaterThan(before + CLIENTS)
      await delay(Number(everySeconds) * 1000)
      const [name, fault] = Object.entries(faults)[round % ROUNDS]!
      await fault(bed, random)
      if (lastingMs > 0) say(`${round + 1}: ${name}; ${done()} answers so far`)
    }
    const after = done()
    await expect.poll(done).toBeGreaterThan(after + CLIENTS)
    load.stop()
    expect(await running).toBeUndefined()
    if (lastingMs > 0) say(`${round} faults, ${load.asked.length} asked, ${done()} answered and received`)
    expect(await contradictions(bed.postgres.url(), load.asked)).toEqual([])
    expect(load.asked.filter(({ received }) => received === undefined)).toEqual([])
    expect(load.forgotten).toEqual([])
    const behind = async () => {
      const rows = await bed.sql<{ id: string; seq: string }>('SELECT id, seq FROM askback.sessions')
      return rows.filter(({ id, seq }) => watchers.seen.get(id) !== Number(seq))
    }
    await expect.poll(behind).toEqual([])
    expect(watchers.problems).toEqual([])
    await watchers.stop()
  },
  240_000 + lastingMs * 1.5,
)

function say(line: string): void {
  process.stdout.write(`${new Date().toISOString()} ${line}\n`)
}

/** A small generator, so that a failure can be had again. */
function draw(from: number): () => number {
  let state = from
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return state / 2 ** 32
  }
}
