import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createDesk } from './desk/desk.js'
import { memoryStore } from './store/memory-store.js'
import { clockOf, steadyClock, jumpAwareClock, type Clock } from './clock.js'

const MINUTE = 60_000

let clock: Clock
beforeEach(() => {
  vi.useFakeTimers()
  clock = clockOf(() => Date.now())
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

function arm(ms: number) {
  const wake = vi.fn<() => void>()
  const disarm = clock.alarm(clock.now() + ms, wake)
  return { wake, disarm }
}

it('keeps the process from ending only while an alarm is set', () => {
  vi.useRealTimers()
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  for (let round = 0; round < 2; round++) {
    const { disarm } = arm(10 * MINUTE)
    expect(timers()).toBe(before + 2)
    disarm()
    expect(timers()).toBe(before)
  }
})

it.each([1, 999, 1000, 1001, 10 * MINUTE])('rings at its time, after %d ms', (ms) => {
  const { wake } = arm(ms)
  vi.advanceTimersByTime(ms - 1)
  expect(wake).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(wake).toHaveBeenCalledOnce()
  vi.advanceTimersByTime(10 * MINUTE)
  expect(wake).toHaveBeenCalledOnce()
  expect(vi.getTimerCount()).toBe(0)
})

it('accepts a time that is further away than a timer can wait', () => {
  const setTimer = vi.spyOn(globalThis, 'setTimeout')
  const { wake } = arm(31 * 24 * 60 * MINUTE)
  expect(setTimer.mock.calls.map(([, ms]) => ms)).toEqual([2 ** 31 - 1, 1000])
  vi.advanceTimersByTime(10 * MINUTE)
  expect(wake).not.toHaveBeenCalled()
  vi.setSystemTime(clock.now() + 31 * 24 * 60 * MINUTE)
  vi.advanceTimersByTime(1000)
  expect(wake).toHaveBeenCalledOnce()
})

it('notices within a second that the machine was asleep or its clock was set forwards', () => {
  const { wake } = arm(10 * MINUTE)
  const later = arm(120 * MINUTE)
  vi.setSystemTime(clock.now() + 60 * MINUTE)
  vi.advanceTimersByTime(1000)
  expect(wake).toHaveBeenCalledOnce()
  expect(later.wake).not.toHaveBeenCalled()
})

it('rings after the time that was left, although the clock was set back', () => {
  const { wake } = arm(10 * MINUTE)
  vi.setSystemTime(clock.now() - 60 * MINUTE)
  vi.advanceTimersByTime(10 * MINUTE)
  expect(wake).toHaveBeenCalledOnce()
})

it('does not ring if it is cancelled before', () => {
  const [one, other] = [arm(10 * MINUTE), arm(10 * MINUTE)]
  vi.advanceTimersByTime(5 * MINUTE)
  one.disarm()
  vi.setSystemTime(clock.now() + 60 * MINUTE)
  vi.advanceTimersByTime(10 * MINUTE)
  expect(one.wake).not.toHaveBeenCalled()
  expect(other.wake).toHaveBeenCalledOnce()
  expect(vi.getTimerCount()).toBe(0)
})

it('does not ring an alarm that another alarm cancels, and rings one that is set again once per setting', () => {
  const wake = vi.fn<() => void>(() => clock.alarm(clock.now() + 5 * MINUTE, wake))
  const disarmed = { wake: vi.fn<() => void>(), disarm: () => {} }
  clock.alarm(clock.now() + MINUTE, () => disarmed.disarm())
  disarmed.disarm = clock.alarm(clock.now() + MINUTE, disarmed.wake)
  clock.alarm(clock.now() + MINUTE, wake)
  vi.setSystemTime(clock.now() + 60 * MINUTE)
  vi.advanceTimersByTime(1000)
  expect(disarmed.wake).not.toHaveBeenCalled()
  expect(wake).toHaveBeenCalledOnce()
})

it('the machine clock shows the time that the machine is set to', () => {
  vi.setSystemTime(1000)
  expect(jumpAwareClock.now()).toBe(1000)
})

describe('a steady clock', () => {
  const DAY = 24 * 60 * MINUTE

  function machine() {
    const time = { wall: 1_800_000_000_000, monotonic: 0 }
    const steady = steadyClock({ wall: () => time.wall, monotonic: () => time.monotonic })
    const pass = (ms: number) => {
      time.wall += ms
      time.monotonic += ms
    }
    return { time, steady, pass }
  }

  it('follows the wall clock forwards at once', () => {
    const { time, steady } = machine()
    expect(steady.now()).toBe(time.wall)
    time.wall += DAY
    expect(steady.now()).toBe(time.wall)
  })

  it('continues at its pace when the wall clock is set back, and approaches it over hours', () => {
    const { time, steady, pass } = machine()
    const before = steady.now()
    time.wall -= 90_000
    expect(steady.now()).toBe(before)
    pass(MINUTE)
    expect(steady.now()).toBe(before + MINUTE - 30)
    for (let hour = 0; hour < 50; hour++) {
      pass(60 * MINUTE)
      steady.now()
    }
    expect(steady.now()).toBe(time.wall)
  })

  it('follows it backwards by more than a day', () => {
    const { time, steady } = machine()
    steady.now()
    time.wall -= 2 * DAY
    expect(steady.now()).toBe(time.wall)
  })

  it('never runs backwards or behind the wall clock, and adds nothing to the time that passes', () => {
    const step = fc.oneof(
      fc.record({ pass: fc.integer({ min: 0, max: 100_000 }), jump: fc.constant(0) }),
      fc.record({ pass: fc.constant(0), jump: fc.integer({ min: -3_600_000, max: 3_600_000 }) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 24 }), (steps) => {
        const { time, steady, pass } = machine()
        let last = steady.now()
        for (const each of steps) {
          pass(each.pass)
          time.wall += each.jump
          const now = steady.now()
          expect(now).toBeGreaterThanOrEqual(Math.max(last, time.wall))
          expect(now).toBeLessThanOrEqual(Math.max(last + each.pass, time.wall))
          if (each.jump === 0) expect(now).toBeGreaterThanOrEqual(last + each.pass * 0.9995 - 1)
          last = now
        }
      }),
    )
  })
})

describe('[L4] after a jump of the local clock', () => {
  const request = { questions: [{ question: 'Which?', options: [{ label: 'One' }] }] }
  const answer = { answers: [{ selected: ['One'] }] }
  const by = { id: 'ada', name: 'Ada' }

  /** Runs all pending promise callbacks, but no timers. */
  async function rest(): Promise<void> {
    for (let turn = 0; turn < 50; turn++) await Promise.resolve()
  }

  async function testDesk() {
    const desk = createDesk({ store: memoryStore() })
    await desk.createSession({ id: 's' })
    const open = async () =>
      (await desk.open({ sessionId: 's', kind: 'question', request, timeoutMs: MINUTE })).interaction
    return { desk, open }
  }

  it('forwards, a read and an answer agree within a second', async () => {
    const { desk, open } = await testDesk()
    const { interactionId } = await open()
    vi.setSystemTime(Date.now() + 60 * MINUTE)
    vi.advanceTimersByTime(1000)
    await rest()
    expect(await desk.interaction('s', interactionId)).toMatchObject({ settlement: 'timed_out' })
    expect((await desk.snapshot('s')).state.pending).toEqual([])
    const late = desk.as({ by }).respond({ interactionId, answer })
    await expect(late).rejects.toMatchObject({ code: 'already_settled' })
    desk.close()
  })

  it('backwards, a request still has its whole time, whether it was opened before or after', async () => {
    const { desk, open } = await testDesk()
    const before = await open()
    vi.setSystemTime(Date.now() - 60 * MINUTE)
    const after = await open()
    const { now } = await desk.snapshot('s')
    expect(after.expiresAt! - now).toBe(MINUTE)
    vi.advanceTimersByTime(MINUTE - 1000)
    await rest()
    expect((await desk.snapshot('s')).state.pending).toHaveLength(2)
    vi.advanceTimersByTime(1500)
    await rest()
    for (const { interactionId } of [before, after]) {
      expect(await desk.interaction('s', interactionId)).toMatchObject({ settlement: 'timed_out' })
      const late = desk.as({ by }).respond({ interactionId, answer })
      await expect(late).rejects.toMatchObject({ code: 'already_settled' })
    }
    desk.close()
  })
})
