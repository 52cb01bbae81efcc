import type { Clock } from '@askback/core'
import { AskbackError, Backoff, backoffMs, errorCodes, retryAfterMsIn } from '@askback/protocol'

/** Without jitter: one process sends to the surface, and in order. */
const BACKOFF = { firstMs: 1000, maxMs: 30_000, random: () => 1 }

interface QueuedWork {
  /** False before the first attempt and during backoff. */
  isRunning: boolean
  /** Resolves to false if the queue was stopped before the work was done. */
  finished: Promise<boolean>
}

/**
 * Runs work in order for each key, and repeats it with backoff while it fails for a passing reason. So a surface that is
 * down for a while gets everything once it is back. Any other error is reported, and the work counts as done.
 */
export class RetryQueue {
  readonly #backoff: Backoff
  readonly #onError: (error: unknown) => void
  /** The last work that was queued for each key. */
  readonly #last = new Map<string, QueuedWork>()
  #isStopped = false

  constructor(clock: Clock, onError: (error: unknown) => void) {
    this.#backoff = new Backoff({ clock })
    this.#onError = onError
  }

  /** For work that reads the current state when it runs: if the same is queued and has not begun, that is enough. */
  runLatest(key: string, work: () => Promise<void>): Promise<boolean> {
    const last = this.#last.get(key)
    if (last && !last.isRunning) return last.finished
    return this.add(key, work)
  }

  /** Adds work that must run in any case, after what is queued for the key. */
  add(key: string, work: () => Promise<void>): Promise<boolean> {
    const before = this.#last.get(key)?.finished ?? Promise.resolve(true)
    const queued: QueuedWork = {
      isRunning: false,
      finished: before.then(() => this.#runWithRetries(queued, work)),
    }
    this.#last.set(key, queued)
    void queued.finished.then(() => {
      if (this.#last.get(key) === queued) this.#last.delete(key)
    })
    return queued.finished
  }

  /** Waits for work that is running. Work that is queued or in backoff does not run any more. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#backoff.retryNow()
    await Promise.all([...this.#last.values()].map(({ finished }) => finished))
  }

  async #runWithRetries(queued: QueuedWork, work: () => Promise<void>): Promise<boolean> {
    for (let failures = 1; !this.#isStopped; failures++) {
      try {
        queued.isRunning = true
        await work()
        return true
      } catch (error) {
        queued.isRunning = false
        if (!mayPass(error)) {
          this.#onError(error)
          return true
        }
        await this.#backoff.sleep(retryAfterMsIn(error) ?? backoffMs(failures, BACKOFF))
      }
    }
    return false
  }
}

function mayPass(error: unknown): boolean {
  return error instanceof AskbackError && errorCodes[error.code].retry !== 'never'
}
