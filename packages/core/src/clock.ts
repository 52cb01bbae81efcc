/** Time as the desk sees it. `at` is an absolute time of the same clock. */
export interface Clock {
  now(): number
  /** Calls `wake` once at or after `at`; the returned function disarms it. It may wake early: the caller looks again. */
  alarm(at: number, wake: () => void): () => void
}

// A longer setTimeout would overflow and fire at once.
const LONGEST_TIMEOUT = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  alarm(at, wake) {
    const delay = Math.min(Math.max(at - Date.now(), 0), LONGEST_TIMEOUT)
    const timer = setTimeout(wake, delay)
    return () => clearTimeout(timer)
  },
}
