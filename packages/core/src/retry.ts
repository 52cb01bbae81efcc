import { Backoff } from '@askback/protocol'
import type { Clock } from './clock.js'

const RETRY_MS = 1000

/** Repeats work that failed, after a pause, until it succeeds or is ended. */
export class Retry {
  readonly #backoff: Backoff
  readonly #onError: (error: unknown) => void
  #ended = false

  constructor(clock: Clock, onError: (error: unknown) => void) {
    this.#backoff = new Backoff({ clock })
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
        await this.#backoff.sleep(RETRY_MS)
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
      void this.#backoff.sleep(RETRY_MS).then(() => this.untilDone(work))
    }
  }

  end(): void {
    this.#ended = true
    this.#backoff.retryNow()
  }
}
