import type { Clock } from '@askback/core'
import { AskbackError } from '@askback/protocol'

/** Limits the requests of each credential in fixed windows of a minute. `count` throws `rate_limited`. */
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
      this.#until = now + WINDOW_MS
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

interface Bucket {
  tokens: number
  at: number
}

/** Above this number, buckets that are full again are deleted: a new bucket is the same. */
const MAX_BUCKETS = 10_000

/**
 * A token bucket for each agent's credential, so that an agent in a loop cannot starve other callers. `count` throws `rate_limited`.
 * Streams do not count, and a long poll counts once.
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
    if (this.#buckets.size >= MAX_BUCKETS) this.#deleteFull(now)
    this.#buckets.set(credentialId, { tokens: tokens - 1, at: now })
  }

  #tokensAt({ tokens, at }: Bucket, now: number): number {
    return Math.min(this.#burst, tokens + (Math.max(0, now - at) / 1000) * this.#perSecond)
  }

  #deleteFull(now: number): void {
    for (const [id, bucket] of this.#buckets)
      if (this.#tokensAt(bucket, now) >= this.#burst) this.#buckets.delete(id)
  }
}

const WINDOW_MS = 60_000
const MAX_ADDRESSES = 10_000

/** Counts wrong tokens, cookies and codes by address. Requests with a valid credential are not affected. */
export class FailedLogins {
  readonly #clock: Clock
  readonly #maxPerMinute: number
  readonly #byAddress = new Map<string, { count: number; until: number }>()

  constructor(clock: Clock, maxPerMinute: number) {
    this.#clock = clock
    this.#maxPerMinute = maxPerMinute
  }

  /** Throws `rate_limited` if there were too many in the last minute. */
  count(address: string): void {
    const now = this.#clock.now()
    let entry = this.#byAddress.get(address)
    if (!entry || entry.until <= now) {
      this.#byAddress.delete(address)
      this.#evict(now)
      entry = { count: 0, until: now + WINDOW_MS }
      this.#byAddress.set(address, entry)
    }
    entry.count++
    if (entry.count <= this.#maxPerMinute) return
    const retryAfter = Math.ceil((entry.until - now) / 1000)
    throw new AskbackError(
      'rate_limited',
      `Too many wrong credentials from this address. Try again in ${retryAfter} s.`,
      { details: { retryAfter } },
    )
  }

  /** Evicts expired entries, and the oldest ones above the limit. The map is in the order of the windows. */
  #evict(now: number): void {
    for (const [address, { until }] of this.#byAddress) {
      if (until > now && this.#byAddress.size < MAX_ADDRESSES) return
      this.#byAddress.delete(address)
    }
  }
}
