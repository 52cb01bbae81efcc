/** Time as the desk sees it. `at` is an absolute time of the same clock. */
export interface Clock {
  now(): number
  /** Calls `wake` once at or after `at`; the returned function disarms it. It may wake early: the caller looks again. */
  alarm(at: number, wake: () => void): () => void
}

// Timers stand still while a machine sleeps, and its clock can be set: a long wait looks at the clock now and then.
const LONGEST_TIMEOUT = 60_000

export const systemClock: Clock = {
  now: () => Date.now(),
  alarm(at, wake) {
    let timer: ReturnType<typeof setTimeout>
    const arm = () => {
      const left = at - Date.now()
      timer = left > LONGEST_TIMEOUT ? setTimeout(arm, LONGEST_TIMEOUT) : setTimeout(wake, Math.max(left, 0))
    }
    arm()
    return () => clearTimeout(timer)
  },
}
