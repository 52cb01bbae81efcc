import type { Clock } from '@askback/core'
import { AskbackError } from '@askback/protocol'

const WINDOW_MS = 60_000
const MOST_ADDRESSES = 10_000

/** Counts wrong tokens, cookies and codes by address. Whoever shows a valid one is never asked about these. */
export class FailedLogins {
  readonly #clock: Clock
  readonly #most: number
  readonly #byAddress = new Map<string, { count: number; until: number }>()

  constructor(clock: Clock, most: number) {
    this.#clock = clock
    this.#most = most
  }

  /** Throws `rate_limited` once there were too many. */
  note(address: string): void {
    const now = this.#clock.now()
    let entry = this.#byAddress.get(address)
    if (!entry || entry.until <= now) {
      this.#byAddress.delete(address)
      this.#makeRoom(now)
      entry = { count: 0, until: now + WINDOW_MS }
      this.#byAddress.set(address, entry)
    }
    entry.count++
    if (entry.count <= this.#most) return
    const retryAfter = Math.ceil((entry.until - now) / 1000)
    throw new AskbackError(
      'rate_limited',
      `Too many wrong credentials from this address. Try again in ${retryAfter} s.`,
      { details: { retryAfter } },
    )
  }

  /** In the order of their windows: the oldest go first. */
  #makeRoom(now: number): void {
    for (const [address, { until }] of this.#byAddress) {
      if (until > now && this.#byAddress.size < MOST_ADDRESSES) return
      this.#byAddress.delete(address)
    }
  }
}
