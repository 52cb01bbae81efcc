import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { systemClock } from './clock.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('wakes at its time, however far that is', () => {
  const wake = vi.fn<() => void>()
  const month = 31 * 24 * 3_600_000
  systemClock.alarm(systemClock.now() + month, wake)
  vi.advanceTimersByTime(month - 1)
  expect(wake).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(wake).toHaveBeenCalledOnce()
})

it('notices within a minute that the machine was asleep', () => {
  const wake = vi.fn<() => void>()
  systemClock.alarm(systemClock.now() + 600_000, wake)
  vi.setSystemTime(systemClock.now() + 3_600_000)
  vi.advanceTimersByTime(60_001)
  expect(wake).toHaveBeenCalledOnce()
})

it('does not wake when it is disarmed on the way', () => {
  const wake = vi.fn<() => void>()
  const disarm = systemClock.alarm(systemClock.now() + 600_000, wake)
  vi.advanceTimersByTime(300_000)
  disarm()
  vi.advanceTimersByTime(600_000)
  expect(wake).not.toHaveBeenCalled()
})
