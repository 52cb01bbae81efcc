import type { Clock } from '../clock.js'

export interface FakeClock extends Clock {
  /** Moves time on, ringing what falls due on the way, in order. */
  advance(ms: number): void
  readonly armed: number
}

export function fakeClock(start = 1_800_000_000_000): FakeClock {
  let now = start
  const alarms = new Set<{ at: number; wake: () => void }>()

  function ringNext(until: number): boolean {
    const due = [...alarms].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)
    const [next] = due
    if (!next) return false
    alarms.delete(next)
    now = Math.max(now, next.at)
    next.wake()
    return true
  }

  return {
    now: () => now,
    alarm(at, wake) {
      const alarm = { at, wake }
      alarms.add(alarm)
      return () => alarms.delete(alarm)
    },
    advance(ms) {
      const until = now + ms
      while (ringNext(until));
      now = until
    },
    get armed() {
      return alarms.size
    },
  }
}
