import type { Clock } from '../clock.js'

/** A clock that stands still until a test moves it. */
export interface FakeClock extends Clock {
  /** Moves the time forward and calls the alarms that become due on the way, in order. */
  advance(ms: number): void
  /** Sets the time without calling alarms, as when a machine slept or its clock was changed. */
  jump(ms: number): void
  /** How many alarms are armed. */
  readonly armed: number
}

export function fakeClock(start = 1_800_000_000_000): FakeClock {
  let now = start
  const alarms = new Set<{ at: number; wake: () => void }>()

  function ringNext(until: number): boolean {
    let next: { at: number; wake: () => void } | null = null
    for (const alarm of alarms) if (alarm.at <= until && (!next || alarm.at < next.at)) next = alarm
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
    jump(ms) {
      now += ms
    },
    get armed() {
      return alarms.size
    },
  }
}

/** Returns `id1`, `id2` and so on, which are readable in a failing test. */
export function countingIds(prefix = 'id'): () => string {
  let count = 0
  return () => `${prefix}${++count}`
}
