// A question over HTTP with a long poll, its answer over HTTP, and both over SSE; against the minimum for this.
import { interleave, report } from '../core/measure.mjs'
import { inFolder } from '../core/workload.mjs'
import { createSessions, medianTrip, Pair } from './round-trips.mjs'
import { startGateway, startBareServer } from './servers.mjs'

const ALONE = 400
const AT_ONCE = 64
const EACH = 5
/** Short turns, so that other work of the machine affects both sides equally. */
const TURNS = 8

/** @param {Pair[]} pairs */
async function allAtOnce(pairs) {
  const started = performance.now()
  await Promise.all(
    pairs.map(async (pair) => {
      for (let trip = 0; trip < EACH; trip++) await pair.trip()
    }),
  )
  return performance.now() - started
}

await inFolder(async (folder) => {
  const gateway = await startGateway(`${folder}/gateway`)
  const floor = await startBareServer('floor', folder)
  const ids = await createSessions(gateway, AT_ONCE + 1)
  const one = ids.pop() ?? ''
  const prepare = async () => undefined
  const [here, there] = [await Pair.open(gateway, one), await Pair.open(floor, one)]
  const alone = await interleave({
    prepare,
    a: () => medianTrip(here, ALONE),
    b: () => medianTrip(there, ALONE),
  })
  const many = await Promise.all(ids.map((id) => Pair.open(gateway, id)))
  const others = await Promise.all(ids.map((id) => Pair.open(floor, id)))
  const atOnce = await interleave({
    turns: TURNS,
    prepare,
    a: () => allAtOnce(many),
    b: () => allAtOnce(others),
  })
  report([
    { what: 'round trip, one at a time: p50 / floor', value: alone.ratio, atMost: 2 },
    { what: 'round trip, 64 at once: rate / floor', value: 1 / atOnce.ratio, atLeast: 0.5 },
  ])
  if (process.env['BENCH_VERBOSE']) {
    const rate = (/** @type {number} */ ms) => Math.round((AT_ONCE * EACH * TURNS * 1000) / ms)
    console.log({ p50: alone.a, floorP50: alone.b, rate: rate(atOnce.a), floorRate: rate(atOnce.b) })
  }
  for (const pair of [here, there, ...many, ...others]) pair.close()
  await gateway.stop()
  await floor.stop()
})
