import type { Clock } from '../clock.js'

export interface StoreOptions {
  clock: Clock
  /** Tells the listeners, not for each change but for all that came together. */
  schedule: (flush: () => void) => void
  /** The same for what changes many times a second, such as a text that is being written; like the rest by default. */
  scheduleLive?: ((flush: () => void) => void) | undefined
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
  #scheduled: 'soon' | 'live' | null = null
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

  protected changed(when: 'soon' | 'live' = 'soon'): void {
    this.#view = null
    if (this.#listeners.size === 0 || this.#scheduled === 'soon' || this.#scheduled === when) return
    this.#scheduled = when
    const { schedule, scheduleLive = schedule } = this.#options
    const tell = when === 'live' ? scheduleLive : schedule
    tell(() => {
      // What was urgent has told of the rest already.
      if (this.#scheduled === null) return
      this.#scheduled = null
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
