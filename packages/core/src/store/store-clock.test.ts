import * as fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { StoreClock } from './store-clock.js'

const START = 1_800_000_000_000
const SECOND = 1000

/** A machine and a store, each with its own clock. `delays` are the times to the store and back of the next measurements. */
class World {
  elapsed = 0
  wallAhead = 0
  asleep = 0
  storeAhead = 0
  isAway = false
  measured = 0
  delays: [there: number, back: number][] = []
  readonly local = {
    wall: () => START + this.elapsed + this.wallAhead,
    monotonic: () => 5000 + this.elapsed - this.asleep,
  }

  get storeTime(): number {
    return START + this.elapsed + this.storeAhead
  }

  sleep(ms: number): void {
    this.elapsed += ms
    this.asleep += ms
  }

  clock(): StoreClock {
    return new StoreClock({
      local: this.local,
      readTime: async () => {
        const [there, back] = this.delays.shift() ?? [1, 1]
        await Promise.resolve()
        this.elapsed += there
        if (this.isAway) throw new Error('The store is away.')
        const time = this.storeTime
        this.elapsed += back
        this.measured++
        return time
      },
    })
  }

  error(clock: StoreClock): number {
    return Math.abs(clock.now() - this.storeTime)
  }
}

describe('the store’s time', () => {
  it.each([90, -90, 0])(
    'is known to within half the round trip, with a wall clock that is off by %d s',
    async (ahead) => {
      const world = new World()
      world.wallAhead = ahead * SECOND
      const clock = world.clock()
      world.delays = [[30, 10]]
      await clock.measure()
      expect(clock.errorMs).toBe(20)
      expect(world.error(clock)).toBeLessThanOrEqual(21)
      world.elapsed += 10 * SECOND
      expect(world.error(clock)).toBeLessThanOrEqual(21)
      expect(Math.abs(clock.skewMs - ahead * SECOND)).toBeLessThanOrEqual(21)
    },
  )

  it('follows the measurement with the smallest error', async () => {
    const world = new World()
    const clock = world.clock()
    world.delays = [
      [1, 1],
      [800, 0],
      [0, 900],
    ]
    for (let count = 0; count < 3; count++) await clock.measure()
    expect(world.error(clock)).toBeLessThanOrEqual(2)
    expect(clock.errorMs).toBeLessThan(2)
  })

  it('prefers a new measurement to a better old one, because clocks drift', async () => {
    const world = new World()
    const clock = world.clock()
    await clock.measure()
    world.elapsed += 10 * 60 * SECOND
    expect(clock.errorMs).toBeCloseTo(301, 0)
    world.delays = [[200, 200]]
    await clock.measure()
    expect(clock.errorMs).toBe(200)
  })

  it('stays as it is when a measurement fails', async () => {
    const world = new World()
    const clock = world.clock()
    await clock.measure()
    world.isAway = true
    await expect(clock.measure()).rejects.toThrow('away')
    world.elapsed += 60 * SECOND
    expect(world.error(clock)).toBeLessThanOrEqual(2)
  })

  it('is the machine’s own before the first measurement', () => {
    const world = new World()
    const clock = world.clock()
    expect(clock.now()).toBe(world.local.wall())
    expect(clock.errorMs).toBe(Infinity)
  })

  it('is measured up to three times at the start while replies are slow', async () => {
    const world = new World()
    const clock = world.clock()
    world.delays = [
      [3000, 0],
      [500, 0],
      [300, 300],
      [1, 1],
    ]
    await clock.start()
    expect(world.measured).toBe(3)
    expect(clock.errorMs).toBeLessThan(251)
    clock.close()
  })
})

describe('a jump', () => {
  it.each([-3600, 3600])(
    'of the wall clock by %d s does not change the time, and causes a measurement at once',
    async (jump) => {
      const world = new World()
      const clock = world.clock()
      await clock.measure()
      world.wallAhead += jump * SECOND
      expect(world.error(clock)).toBeLessThanOrEqual(2)
      expect(clock.errorMs).toBeGreaterThan(3600 * SECOND)
      // `now()` has started a measurement; this call shares it.
      await clock.measure()
      expect(world.measured).toBe(2)
      expect(clock.errorMs).toBe(1)
      expect(clock.skewMs).toBeCloseTo(jump * SECOND, -1)
    },
  )

  it('by sleep is corrected by the next measurement', async () => {
    const world = new World()
    const clock = world.clock()
    await clock.measure()
    world.sleep(3600 * SECOND)
    clock.now()
    await clock.measure()
    expect(world.error(clock)).toBeLessThanOrEqual(2)
    expect(world.measured).toBe(2)
  })

  it('by sleep during a measurement discards that measurement', async () => {
    const world = new World()
    let measured = 0
    const clock = new StoreClock({
      local: world.local,
      readTime: async () => {
        const time = world.storeTime
        await Promise.resolve()
        if (++measured === 1) world.sleep(60 * SECOND)
        return time
      },
    })
    await clock.measure()
    expect(measured).toBe(2)
    expect(world.error(clock)).toBeLessThanOrEqual(1)
  })

  it('of the store’s own clock is followed with the next measurement', async () => {
    const world = new World()
    const clock = world.clock()
    await clock.measure()
    for (const jump of [5 * SECOND, -5 * SECOND]) {
      clock.now()
      world.storeAhead += jump
      // Its error is larger than that of the one before, and it is used nevertheless.
      world.delays = [[50, 50]]
      await clock.measure()
      expect(world.error(clock)).toBeLessThanOrEqual(51)
    }
  })

  it('back by less than a second makes the time stand still instead', async () => {
    const world = new World()
    const clock = world.clock()
    await clock.measure()
    const before = clock.now()
    world.storeAhead -= 900
    await clock.measure()
    expect(clock.now()).toBe(before)
    world.elapsed += 1000
    expect(world.error(clock)).toBeLessThanOrEqual(2)
  })
})

describe('with any jumps and delays', () => {
  const delay = fc.integer({ min: 0, max: 900 })
  const jump = fc.integer({ min: -7200, max: 7200 }).map((seconds) => seconds * SECOND)
  const step = fc.oneof(
    fc.record({ type: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 30_000 }) }),
    fc.record({ type: fc.constant('wall' as const), ms: jump }),
    fc.record({ type: fc.constant('sleep' as const), ms: fc.integer({ min: 1500, max: 3_600_000 }) }),
    fc.record({ type: fc.constant('measure' as const), there: delay, back: delay, isAway: fc.boolean() }),
  )

  it('the error is at most half the best round trip, and the time never runs backwards', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), jump, async (steps, ahead) => {
        const world = new World()
        world.wallAhead = ahead
        const clock = world.clock()
        world.delays = [[5, 5]]
        await clock.measure()
        /** Half the best round trip since the last sleep, and whether the machine slept since the last measurement. */
        let best = 5
        let isLate = false
        let last = clock.now()
        for (const each of steps) {
          const { measured } = world
          if (each.type === 'pass') world.elapsed += each.ms
          if (each.type === 'wall') world.wallAhead += each.ms
          if (each.type === 'sleep') {
            world.sleep(each.ms)
            isLate = true
          }
          if (each.type === 'measure') {
            world.delays = [[each.there, each.back]]
            world.isAway = each.isAway
            await clock.measure().catch(() => undefined)
            world.isAway = false
            if (world.measured > measured) {
              const error = (each.there + each.back) / 2
              best = isLate ? error : Math.min(best, error)
              isLate = false
            }
          }
          const first = clock.now()
          expect(first).toBeGreaterThanOrEqual(last)
          if (each.type === 'wall' || each.type === 'sleep') {
            // `now()` has started a measurement of 2 ms, unless the wall clock has hardly moved.
            for (let turn = 0; turn < 10; turn++) await Promise.resolve()
            if (world.measured > measured) {
              best = 1
              isLate = false
            }
          }
          const now = clock.now()
          expect(now).toBeGreaterThanOrEqual(first)
          const drift = (world.elapsed - world.asleep) * 0.0005
          if (!isLate) {
            expect(clock.errorMs).toBeLessThanOrEqual(best + drift + 0.01)
            // Only where `now()` repeats its last value, to not run backwards, may it be further ahead.
            const isRepeated = now === last
            expect(now - world.storeTime).toBeGreaterThanOrEqual(-clock.errorMs - 1)
            if (!isRepeated) expect(now - world.storeTime).toBeLessThanOrEqual(clock.errorMs + 1)
          }
          last = now
        }
      }),
      { numRuns: 300 },
    )
  })
})

describe('with real timers', () => {
  afterEach(() => void vi.useRealTimers())

  it('measures at intervals until it is closed, and calls its listeners', async () => {
    vi.useFakeTimers()
    const world = new World()
    const clock = world.clock()
    const listener = vi.fn<() => void>()
    clock.onMeasured(listener)
    await clock.start()
    expect(world.measured).toBe(1)
    world.isAway = true
    await vi.advanceTimersByTimeAsync(2000)
    world.isAway = false
    await vi.advanceTimersByTimeAsync(4000)
    expect(listener).toHaveBeenCalledTimes(3)
    clock.close()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(world.measured).toBe(3)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('calls an alarm within a second after the machine has slept past it', async () => {
    vi.useFakeTimers()
    let asleep = 0
    const clock = new StoreClock({
      local: { wall: () => Date.now() + asleep, monotonic: () => performance.now() },
      readTime: () => Promise.resolve(START + performance.now() + asleep),
    })
    await clock.start()
    const wake = vi.fn<() => void>()
    clock.alarm(clock.now() + 600_000, wake)
    await vi.advanceTimersByTimeAsync(500)
    asleep = 3_600_000
    await vi.advanceTimersByTimeAsync(1000)
    expect(wake).toHaveBeenCalledOnce()
    clock.close()
  })
})
