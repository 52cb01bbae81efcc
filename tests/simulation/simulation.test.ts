// Each seed produces one run, always the same one. A failing run prints its seed and its last steps; with SEED, all of them:
//   SEED=123 npx vitest run tests/simulation
//   FROM=1001 SEEDS=5000 npx vitest run tests/simulation
import { describe, expect, it } from 'vitest'
import { simulate } from './simulation.js'

const { SEED, FROM = '1', SEEDS = '1000' } = process.env
const first = Number(SEED ?? FROM)
const end = first + (SEED === undefined ? Number(SEEDS) : 1)
const tail = SEED === undefined ? 60 : Infinity
const BATCH = 100

describe('simulation', () => {
  for (let from = first; from < end; from += BATCH) {
    const last = Math.min(from + BATCH, end) - 1
    it(`[L1–L13] every promise holds in the runs of the seeds ${from} to ${last}`, async () => {
      for (let seed = from; seed <= last; seed++) {
        expect((await simulate(seed, tail)).events).toBeGreaterThan(0)
      }
    })
  }

  it('makes the same run from the same seed', async () => {
    const [one, other] = [await simulate(first), await simulate(first)]
    expect(one.trace).toEqual(other.trace)
  })
})
