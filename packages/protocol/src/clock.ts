/**
 * A source of time and of timers. Code that waits takes one as an option, so that tests can pass the fake clock of
 * `@askback/protocol/testing` and move time by hand.
 */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /**
   * Calls `ring` once when the clock reaches `at`, an absolute time of the same clock. A clock may ring early if it was
   * adjusted in between, so a caller to whom that matters checks `now()` again.
   *
   * @returns a function that cancels the alarm
   */
  alarm(at: number, ring: () => void): () => void
}

/** The clock of this machine, with one `setTimeout` for each alarm. */
export const systemClock: Clock = {
  now: () => Date.now(),
  alarm(at, ring) {
    const timer = setTimeout(ring, Math.max(at - Date.now(), 0))
    return () => clearTimeout(timer)
  },
}
