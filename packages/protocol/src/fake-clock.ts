import type { Clock } from './clock.js'

export interface FakeClock extends Clock {
  /** Moves time forward and rings the alarms that fall due on the way, in the order of their times. */
  advance(ms: number): void
  /** Sets the time without ringing anything, like a machine that was asleep or whose clock was set. */
  jump(ms: number): void
  /** How many alarms are set. */
  readonly armed: number
}

/**
 * A clock that stands still until a test moves it.
 *
 * @param start - milliseconds since 1970
 *
 * @example
 * const clock = fakeClock()
 * clock.alarm(clock.now() + 1000, () => console.log('rings'))
 * clock.advance(1000) // rings
 */
export function fakeClock(start = 1_800_000_000_000): FakeClock {
  let now = start
  const alarms = new Set<{ at: number; ring: () => void }>()

  function ringNext(until: number): boolean {
    let next: { at: number; ring: () => void } | null = null
    for (const alarm of alarms) if (alarm.at <= until && (!next || alarm.at < next.at)) next = alarm
    if (!next) return false
    alarms.delete(next)
    now = Math.max(now, next.at)
    next.ring()
    return true
  }

  return {
    now: () => now,
    alarm(at, ring) {
      const alarm = { at, ring }
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
