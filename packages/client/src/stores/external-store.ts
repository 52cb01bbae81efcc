import type { Clock } from '@askback/protocol'

export interface StoreOptions {
  clock: Clock
  /** Schedules the notification of listeners, so that changes that come together are published once. */
  schedule: (flush: () => void) => void
  /** The same for what changes many times a second, such as a text that is being written. Defaults to `schedule`. */
  scheduleLive?: ((flush: () => void) => void) | undefined
  /** Called when the store has had no listeners for a while and has stopped. */
  onIdle?: () => void
}

/** A store keeps running for this long without listeners, so that somebody who comes back soon finds it up to date. */
const LINGER_MS = 5000

/**
 * A changing view for `useSyncExternalStore`. It runs while it has listeners and for `LINGER_MS` longer.
 *
 *   stopped ──(first listener)──▶ running ──(last listener left)──▶ lingering ──(LINGER_MS)──▶ stopped
 *                                    ▲────────(a listener comes)───────┘
 */
export abstract class ExternalStore<View> {
  readonly #options: StoreOptions
  readonly #listeners = new Set<() => void>()
  /** The view that was handed out, until something changes. */
  #view: View | null = null
  #scheduled: 'soon' | 'live' | null = null
  #isRunning = false
  #cancelLinger: () => void = () => undefined

  constructor(options: StoreOptions) {
    this.#options = options
    this.#linger()
  }

  // `subscribe` and `getSnapshot` are arrow functions, so that they can be passed on without their object.

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    this.#cancelLinger()
    if (!this.#isRunning) {
      this.#isRunning = true
      this.start()
    }
    return () => {
      if (this.#listeners.delete(listener) && this.#listeners.size === 0) this.#linger()
    }
  }

  /** The current view: the same object until something changes. */
  readonly getSnapshot = (): View => (this.#view ??= this.view())

  protected abstract view(): View
  protected abstract start(): void
  protected abstract stop(): void

  /** Notifies the listeners, later and once for everything that changed until then. */
  protected changed(when: 'soon' | 'live' = 'soon'): void {
    this.#view = null
    if (this.#listeners.size === 0 || this.#scheduled === 'soon' || this.#scheduled === when) return
    this.#scheduled = when
    const { schedule, scheduleLive = schedule } = this.#options
    const scheduleFlush = when === 'live' ? scheduleLive : schedule
    scheduleFlush(() => {
      // A more urgent flush came first, and has published this change, too.
      if (this.#scheduled === null) return
      this.#scheduled = null
      for (const listener of this.#listeners) listener()
    })
  }

  /** Stops at once, and drops all listeners. */
  end(): void {
    this.#cancelLinger()
    this.#listeners.clear()
    if (this.#isRunning) this.stop()
    this.#isRunning = false
    this.#view = null
  }

  #linger(): void {
    const { clock, onIdle } = this.#options
    this.#cancelLinger = clock.alarm(clock.now() + LINGER_MS, () => {
      this.end()
      onIdle?.()
    })
  }
}
