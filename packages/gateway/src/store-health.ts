import type { Clock, Store, SharedClock } from '@askback/core'
import { AskbackError } from '@askback/protocol'

const KEY = 'readiness'
/** Whoever asks more often gets the last result. */
const MIN_INTERVAL_MS = 1000
const TIMEOUT_MS = 3000
const MAX_ATTEMPTS = 3

/**
 * Whether the store can be read and written now: reads a key and writes it again, which fails where the database is away or
 * the disk is full. At most one look at a time and one a second, however many ask.
 */
export class StoreProbe {
  readonly #store: Store
  readonly #clock: Clock
  /** One that hangs is waited for: each more would take a connection from those who have work to do. */
  #working: Promise<void> | null = null
  #last: { at: number; result: Promise<void> } | null = null

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** Rejects with `unavailable` and why. */
  async check(): Promise<void> {
    const now = this.#clock.now()
    const age = this.#last ? now - this.#last.at : Infinity
    // A clock that was set back must not keep an old result for ever.
    if (!this.#last || age >= MIN_INTERVAL_MS || age < 0) {
      const result = this.#look()
      result.catch(() => undefined)
      this.#last = { at: now, result }
    }
    await this.#last.result
  }

  async #look(): Promise<void> {
    let disarm = () => {}
    const late = new Promise<never>((_, reject) => {
      const error = new AskbackError('unavailable', 'The store does not answer.')
      disarm = this.#clock.alarm(this.#clock.now() + TIMEOUT_MS, () => reject(error))
    })
    try {
      this.#working ??= this.#readAndWrite().finally(() => (this.#working = null))
      await Promise.race([this.#working, late])
    } catch (error) {
      if (error instanceof AskbackError) throw error
      throw new AskbackError('unavailable', 'The store failed.', { cause: error })
    } finally {
      disarm()
    }
  }

  /** Another gateway may write the key in between: then its next version is tried. */
  async #readAndWrite(): Promise<void> {
    const { kv } = this.#store
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const entry = await kv.get(KEY)
      if (await kv.put(KEY, { at: this.#clock.now() }, entry?.version ?? null)) return
    }
  }
}

/** From here on people are told. */
const MAX_SKEW_MS = 1000
/** It is over only when it is clearly less, so that a clock at the border is not reported again and again. */
const AGREES_MS = 900

/** Says when the clock of this machine begins to differ from the store's, and when it agrees again. */
export function watchClock(clock: SharedClock, warn: (details: object, message: string) => void): () => void {
  let differs = false
  const look = () => {
    const { skewMs, errorMs } = clock
    const skew = Math.abs(skewMs)
    const limit = differs ? AGREES_MS : MAX_SKEW_MS + errorMs
    if (skew > limit === differs) return
    differs = !differs
    const details = { clockOffsetSeconds: skewMs / 1000 }
    if (differs) {
      const how = `${(skew / 1000).toFixed(1)} s ${skewMs > 0 ? 'ahead of' : 'behind'} the database’s`
      warn(details, `The clock of this machine is ${how}. Deadlines go by the database; set this clock.`)
    } else warn(details, 'The clock of this machine agrees with the database’s again.')
  }
  look()
  return clock.onMeasured(look)
}
