/** Time as the client sees it. `at` is an absolute time of the same clock. */
export interface Clock {
  now(): number
  /** Calls `wake` once at or after `at`; the returned function disarms it. */
  alarm(at: number, wake: () => void): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  alarm(at, wake) {
    const timer = setTimeout(wake, Math.max(at - Date.now(), 0))
    return () => clearTimeout(timer)
  },
}
