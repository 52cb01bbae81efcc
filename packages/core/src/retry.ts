import type { Clock } from './clock.js'

const RETRY_MS = 1000

/** Repeats work that failed, after a pause, until it succeeds or is ended. */
export class Retry {
  readonly #clock: Clock
  readonly #onError: (error: unknown) => void
  /** Functions that end the running pauses. */
  readonly #pauses = new Set<() => void>()
  #ended = false

  constructor(clock: Clock, onError: (error: unknown) => void) {
    this.#clock = clock
    this.#onError = onError
  }

  /** Resolves when the work has succeeded, or after `end`; errors after `end` are ignored. */
  async untilDone(work: () => Promise<void>): Promise<void> {
    while (!this.#ended) {
      try {
        return await work()
      } catch (error) {
        if (this.#ended) return
        this.#onError(error)
        await this.#pause()
      }
    }
  }

  /** Resolves after the first attempt. If that failed, the work is repeated in the background. */
  async attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (this.#ended) return
      this.#onError(error)
      void this.#pause().then(() => this.untilDone(work))
    }
  }

  end(): void {
    this.#ended = true
    for (const endPause of this.#pauses) endPause()
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const endPause = () => {
        disarm()
        this.#pauses.delete(endPause)
        resolve()
      }
      this.#pauses.add(endPause)
      let disarm = () => {}
      disarm = this.#clock.alarm(this.#clock.now() + RETRY_MS, endPause)
    })
  }
}
