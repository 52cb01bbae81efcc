import type { Clock } from './clock.js'

export interface StoreOptions {
  clock: Clock
  /** Tells the listeners, not for each change but for all that came together. */
  schedule: (flush: () => void) => void
  /** Called when nobody has listened for a while, and it has stopped. */
  idle?: () => void
}

/** Whoever switches back soon finds everything as it was. */
const LINGER_MS = 5000

/** Something to show that changes, for `useSyncExternalStore`: it works while somebody listens, and a while longer. */
export abstract class ExternalStore<View> {
  readonly #options: StoreOptions
  readonly #listeners = new Set<() => void>()
  #view: View | null = null
  #isScheduled = false
  #isRunning = false
  #disarm: () => void = () => undefined

  constructor(options: StoreOptions) {
    this.#options = options
    this.#linger()
  }

  // Bound, so that they can be passed on as they are.
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    this.#disarm()
    if (!this.#isRunning) {
      this.#isRunning = true
      this.start()
    }
    return () => {
      if (this.#listeners.delete(listener) && this.#listeners.size === 0) this.#linger()
    }
  }

  /** The same until something changes. */
  readonly getSnapshot = (): View => (this.#view ??= this.view())

  protected abstract view(): View
  protected abstract start(): void
  protected abstract stop(): void

  protected changed(): void {
    this.#view = null
    if (this.#isScheduled || this.#listeners.size === 0) return
    this.#isScheduled = true
    this.#options.schedule(() => {
      this.#isScheduled = false
      for (const listener of this.#listeners) listener()
    })
  }

  /** Now, whoever listens. */
  end(): void {
    this.#disarm()
    this.#listeners.clear()
    if (this.#isRunning) this.stop()
    this.#isRunning = false
    this.#view = null
  }

  #linger(): void {
    const { clock, idle } = this.#options
    this.#disarm = clock.alarm(clock.now() + LINGER_MS, () => {
      this.end()
      idle?.()
    })
  }
}
