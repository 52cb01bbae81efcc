import { setTimeout as delay } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { Bed, LEASE_MS } from './bed.js'
import { contradictions } from './check.js'
import { Load } from './load.js'

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
}

const CLIENTS = 8
/** More of them by hand: see bench/postgres. */
const rounds = Number(process.env['ASKBACK_FAULT_ROUNDS'] ?? 5)
const seed = Number(process.env['ASKBACK_FAULT_SEED'] ?? 20_261_116)

it(
  'nothing that was acknowledged is lost or counts twice, whatever fails under load',
  async () => {
    const random = draw(seed)
    const bed = await Bed.start({ gateways: 3 })
    onTestFinished(() => bed.end())
    const load = new Load(() => bed.gateways, random)
    const running = load.run(CLIENTS).catch((error: unknown) => error)
    const done = () => load.asked.filter(({ received }) => received !== undefined).length
    for (let round = 0; round < rounds; round++) {
      const before = done()
      await expect.poll(done).toBeGreaterThan(before + CLIENTS)
      await Object.values(faults)[round % 5]!(bed, random)
    }
    const after = done()
    await expect.poll(done).toBeGreaterThan(after + CLIENTS)
    load.stop()
    expect(await running).toBeUndefined()
    expect(await contradictions(bed.postgres.url(), load.asked)).toEqual([])
    expect(load.asked.filter(({ received }) => received === undefined)).toEqual([])
  },
  60_000 + rounds * 30_000,
)

/** A small generator, so that a failure can be had again. */
function draw(from: number): () => number {
  let state = from
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return state / 2 ** 32
  }
}
