import type { Clock, Store } from '@askback/core'
import type { SharedClock } from '@askback/core/store'
import { AskbackError } from '@askback/protocol'

const KEY = 'readiness'
/** Within this time the last result is returned again. */
const MIN_INTERVAL_MS = 1000
const TIMEOUT_MS = 3000
const MAX_ATTEMPTS = 3

/**
 * Checks whether the store can be read and written: it reads a key and writes it again, which fails if the database is unreachable or
 * the disk is full. At most one check runs at a time and one starts per second, however many callers there are.
 */
export class StoreProbe {
  readonly #store: Store
  readonly #clock: Clock
  /** A hanging check is not repeated: each would take one more connection from other work. */
  #running: Promise<void> | null = null
  #last: { at: number; result: Promise<void> } | null = null

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** Rejects with `unavailable` and the reason. */
  async check(): Promise<void> {
    const now = this.#clock.now()
    const age = this.#last ? now - this.#last.at : Infinity
    // If the clock was set back, the age is negative and the result is not reused.
    if (!this.#last || age >= MIN_INTERVAL_MS || age < 0) {
      const result = this.#checkNow()
      result.catch(() => undefined)
      this.#last = { at: now, result }
    }
    await this.#last.result
  }

  async #checkNow(): Promise<void> {
    let cancel = () => {}
    const timeout = new Promise<never>((_, reject) => {
      const error = new AskbackError('unavailable', 'The store does not answer.')
      cancel = this.#clock.alarm(this.#clock.now() + TIMEOUT_MS, () => reject(error))
    })
    try {
      this.#running ??= this.#readAndWrite().finally(() => (this.#running = null))
      await Promise.race([this.#running, timeout])
    } catch (error) {
      if (error instanceof AskbackError) throw error
      throw new AskbackError('unavailable', 'The store failed.', { cause: error })
    } finally {
      cancel()
    }
  }

  /** Retries on a conflict, because another gateway may write the key between the read and the write. */
  async #readAndWrite(): Promise<void> {
    const { kv } = this.#store
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const entry = await kv.get(KEY)
      if (await kv.put(KEY, { at: this.#clock.now() }, entry?.version ?? null)) return
    }
  }
}

/** A larger difference is reported. */
const MAX_SKEW_MS = 1000
/** Agreement is reported only below this, so that a clock near the limit is not reported again and again. */
const MAX_AGREEING_SKEW_MS = 900

/** Warns when the clock of this machine begins to differ from the store's, and when it agrees again. Returns how to stop. */
export function watchClock(clock: SharedClock, warn: (details: object, message: string) => void): () => void {
  let differs = false
  const compare = () => {
    const { skewMs, errorMs } = clock
    const skew = Math.abs(skewMs)
    const limit = differs ? MAX_AGREEING_SKEW_MS : MAX_SKEW_MS + errorMs
    if (skew > limit === differs) return
    differs = !differs
    const details = { clockOffsetSeconds: skewMs / 1000 }
    if (differs) {
      const difference = `${(skew / 1000).toFixed(1)} s ${skewMs > 0 ? 'ahead of' : 'behind'} the database’s`
      warn(
        details,
        `The clock of this machine is ${difference}. Deadlines go by the database; set this clock.`,
      )
    } else warn(details, 'The clock of this machine agrees with the database’s again.')
  }
  compare()
  return clock.onMeasured(compare)
}
