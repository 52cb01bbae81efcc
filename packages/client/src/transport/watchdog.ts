import type { Clock } from '@askback/protocol'

/**
 * Calls `onStall` when nothing was received for `ms` milliseconds. Timers stand still while a machine sleeps, so it compares
 * times when its timer fires instead of trusting the timer.
 *
 * @returns `received`, to call for each sign of life, and `stop`
 */
export function watchdog(
  clock: Clock,
  ms: number,
  onStall: () => void,
): { received: () => void; stop: () => void } {
  let last = clock.now()
  let cancel = arm()

  function arm(): () => void {
    return clock.alarm(last + ms, () => {
      if (clock.now() - last >= ms) onStall()
      else cancel = arm()
    })
  }

  return {
    received() {
      last = clock.now()
    },
    stop: () => cancel(),
  }
}

/** Calls `act` every `ms` milliseconds, until the returned function is called. */
export function every(clock: Clock, ms: number, act: () => void): () => void {
  let cancel = arm()
  function arm(): () => void {
    return clock.alarm(clock.now() + ms, () => {
      cancel = arm()
      act()
    })
  }
  return () => cancel()
}
