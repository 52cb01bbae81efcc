import type { Clock } from '@askback/core'
import { AskbackError } from '@askback/protocol'

interface Bucket {
  tokens: number
  at: number
}

/** Beyond these, buckets that are full again are dropped: they say nothing. */
const MAX_BUCKETS = 10_000

/**
 * A token bucket for each agent's credential, so that an agent in a loop cannot take the gateway from everybody else. Streams do
 * not count, and a long poll counts once, however long it is held.
 */
export class AgentRate {
  readonly #clock: Clock
  readonly #perSecond: number
  readonly #burst: number
  readonly #buckets = new Map<string, Bucket>()

  constructor(clock: Clock, { perSecond, burst }: { perSecond: number; burst: number }) {
    this.#clock = clock
    this.#perSecond = perSecond
    this.#burst = burst
  }

  count(credentialId: string): void {
    const now = this.#clock.now()
    const bucket = this.#buckets.get(credentialId) ?? { tokens: this.#burst, at: now }
    const tokens = this.#tokensAt(bucket, now)
    if (tokens < 1) {
      const retryAfter = Math.ceil((1 - tokens) / this.#perSecond)
      throw new AskbackError(
        'rate_limited',
        `More than ${this.#perSecond} requests a second with this agent's credential. Try again in ${retryAfter} s.`,
        { details: { retryAfter } },
      )
    }
    if (this.#buckets.size >= MAX_BUCKETS) this.#dropFull(now)
    this.#buckets.set(credentialId, { tokens: tokens - 1, at: now })
  }

  #tokensAt({ tokens, at }: Bucket, now: number): number {
    return Math.min(this.#burst, tokens + (Math.max(0, now - at) / 1000) * this.#perSecond)
  }

  #dropFull(now: number): void {
    for (const [id, bucket] of this.#buckets)
      if (this.#tokensAt(bucket, now) >= this.#burst) this.#buckets.delete(id)
  }
}
