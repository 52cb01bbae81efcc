import { describe, expect, it } from 'vitest'
import { Backoff, backoffMs } from './backoff.js'
import { fakeClock } from './fake-clock.js'

const limits = { firstMs: 250, maxMs: 30_000 }

describe('the delay', () => {
  it.each<[number, number]>([
    [0, 250],
    [1, 250],
    [2, 500],
    [3, 1000],
    [7, 16_000],
    [8, 30_000],
    [2000, 30_000],
  ])('after %d failures is %d ms without jitter', (failures, ms) => {
    expect(backoffMs(failures, { ...limits, random: () => 1 })).toBe(ms)
  })

  it('is between a half and all of that with jitter', () => {
    expect(backoffMs(3, { ...limits, random: () => 0 })).toBe(500)
    expect(backoffMs(3, { ...limits, random: () => 0.5 })).toBe(750)
    for (let n = 0; n < 100; n++) {
      const ms = backoffMs(3, limits)
      expect(ms).toBeGreaterThanOrEqual(500)
      expect(ms).toBeLessThan(1000)
    }
  })
})

describe('a wait', () => {
  function setUp() {
    const clock = fakeClock()
    return { clock, backoff: new Backoff({ clock, random: () => 1 }) }
  }

  async function isOver(wait: Promise<void>): Promise<boolean> {
    let over = false
    void wait.then(() => {
      over = true
    })
    for (let turn = 0; turn < 5; turn++) await Promise.resolve()
    return over
  }

  it('lasts as long as the backoff says, or as long as the server asked for', async () => {
    const { clock, backoff } = setUp()
    const [first, asked] = [backoff.wait(2), backoff.wait(2, undefined, 4000)]
    clock.advance(499)
    expect(await isOver(first)).toBe(false)
    clock.advance(1)
    expect([await isOver(first), await isOver(asked)]).toEqual([true, false])
    clock.advance(3500)
    expect(await isOver(asked)).toBe(true)
    expect(clock.armed).toBe(0)
  })

  it('takes the bounds that it is given', async () => {
    const { clock } = setUp()
    const backoff = new Backoff({ clock, random: () => 1, firstMs: 10, maxMs: 15 })
    const wait = backoff.wait(9)
    clock.advance(15)
    expect(await isOver(wait)).toBe(true)
  })

  it('ends at once when it is aborted, also before it began', async () => {
    const { clock, backoff } = setUp()
    const stopping = new AbortController()
    const wait = backoff.sleep(1000, stopping.signal)
    expect(await isOver(wait)).toBe(false)
    stopping.abort()
    expect(await isOver(wait)).toBe(true)
    expect(await isOver(backoff.sleep(1000, stopping.signal))).toBe(true)
    expect(clock.armed).toBe(0)
  })

  it('ends with all others on retryNow, and leaves no timer behind', async () => {
    const { clock, backoff } = setUp()
    const waits = [backoff.wait(1), backoff.wait(8)]
    backoff.retryNow()
    expect(await Promise.all(waits.map(isOver))).toEqual([true, true])
    expect(clock.armed).toBe(0)
  })
})
