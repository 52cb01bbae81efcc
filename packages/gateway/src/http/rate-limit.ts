import type { Clock } from '@askback/core'
import { AskbackError } from '@askback/protocol'

const MINUTE_MS = 60_000

/** Requests of each credential, minute by minute. */
export class RateLimit {
  readonly #clock: Clock
  readonly #perMinute: number
  readonly #counts = new Map<string, number>()
  #until = 0

  constructor(clock: Clock, perMinute: number) {
    this.#clock = clock
    this.#perMinute = perMinute
  }

  count(credentialId: string): void {
    const now = this.#clock.now()
    if (now >= this.#until) {
      this.#counts.clear()
      this.#until = now + MINUTE_MS
    }
    const count = (this.#counts.get(credentialId) ?? 0) + 1
    this.#counts.set(credentialId, count)
    if (count <= this.#perMinute) return
    const retryAfter = Math.ceil((this.#until - now) / 1000)
    throw new AskbackError(
      'rate_limited',
      `More than ${this.#perMinute} requests in a minute with this credential. Try again in ${retryAfter} s.`,
      { details: { retryAfter } },
    )
  }
}
