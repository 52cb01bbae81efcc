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
