import { systemClock, type Clock } from './clock.js'

/** The shortest and the longest pause between attempts. */
export interface BackoffLimits {
  /** Delay after the first failure, in milliseconds. It doubles with each further failure. */
  firstMs: number
  /** Upper bound of the delay, in milliseconds. */
  maxMs: number
  /**
   * Returns a number from 0 (inclusive) to 1 (exclusive). The delay is multiplied by something between a half and one, so
   * that clients that failed together do not all return at the same moment. `() => 1` turns that off.
   *
   * @default Math.random
   */
  random?: () => number
}

/**
 * How long to wait before the attempt that follows this many failures, in milliseconds: exponential backoff with jitter.
 *
 * @example
 * backoffMs(1, { firstMs: 250, maxMs: 30_000, random: () => 1 }) // 250
 * backoffMs(4, { firstMs: 250, maxMs: 30_000, random: () => 1 }) // 2000
 */
export function backoffMs(failures: number, { firstMs, maxMs, random = Math.random }: BackoffLimits): number {
  const full = Math.min(firstMs * 2 ** Math.max(failures - 1, 0), maxMs)
  return full * (0.5 + random() / 2)
}

/** What a component that retries takes as options. */
export interface Timing {
  /** @default the clock of this machine */
  clock?: Clock
  /**
   * Returns a number from 0 (inclusive) to 1 (exclusive); spreads the retries of many clients.
   *
   * @default Math.random
   */
  random?: () => number
}

export interface BackoffOptions extends Timing, Partial<Pick<BackoffLimits, 'firstMs' | 'maxMs'>> {}

const FIRST_MS = 250
const MAX_MS = 30_000

/**
 * Waits between attempts, with exponential backoff. Several loops may share one `Backoff`: `retryNow` ends the waits of all
 * of them, for example when the network is back.
 */
export class Backoff {
  readonly clock: Clock
  readonly #limits: BackoffLimits
  readonly #endWaits = new Set<() => void>()

  constructor({
    clock = systemClock,
    random = Math.random,
    firstMs = FIRST_MS,
    maxMs = MAX_MS,
  }: BackoffOptions = {}) {
    this.clock = clock
    this.#limits = { firstMs, maxMs, random }
  }

  /**
   * Waits before the attempt that follows this many failures, and at least `atLeastMs`. Resolves early when `signal` aborts
   * or `retryNow` is called; it never rejects.
   */
  async wait(failures: number, signal?: AbortSignal, atLeastMs = 0): Promise<void> {
    await this.sleep(Math.max(backoffMs(failures, this.#limits), atLeastMs), signal)
  }

  /** Waits for a fixed time. Resolves early in the same cases as `wait`. */
  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return
    await new Promise<void>((resolve) => {
      const end = () => {
        cancelAlarm()
        this.#endWaits.delete(end)
        signal?.removeEventListener('abort', end)
        resolve()
      }
      const cancelAlarm = this.clock.alarm(this.clock.now() + ms, end)
      this.#endWaits.add(end)
      signal?.addEventListener('abort', end)
    })
  }

  /** Ends all current waits. */
  retryNow(): void {
    for (const end of this.#endWaits) end()
  }
}
