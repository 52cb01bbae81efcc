import type { Clock } from '@askback/core'
import { AskbackError, errorCodes } from '@askback/protocol'

const FIRST_BACKOFF_MS = 1000
const MAX_BACKOFF_MS = 30_000

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
  readonly #clock: Clock
  readonly #onError: (error: unknown) => void
  /** The last work that was queued for each key. */
  readonly #last = new Map<string, QueuedWork>()
  readonly #endBackoff = new Set<() => void>()
  #isStopped = false

  constructor(clock: Clock, onError: (error: unknown) => void) {
    this.#clock = clock
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
    for (const end of this.#endBackoff) end()
    await Promise.all([...this.#last.values()].map(({ finished }) => finished))
  }

  async #runWithRetries(queued: QueuedWork, work: () => Promise<void>): Promise<boolean> {
    for (let failures = 0; !this.#isStopped; failures++) {
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
        await this.#wait(retryAfterMs(error) ?? Math.min(FIRST_BACKOFF_MS * 2 ** failures, MAX_BACKOFF_MS))
      }
    }
    return false
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        disarm()
        this.#endBackoff.delete(end)
        resolve()
      }
      const disarm = this.#clock.alarm(this.#clock.now() + ms, end)
      this.#endBackoff.add(end)
    })
  }
}

function mayPass(error: unknown): boolean {
  return error instanceof AskbackError && errorCodes[error.code].retry !== 'never'
}

/** How long the surface asked us to wait. */
function retryAfterMs(error: unknown): number | null {
  const details = error instanceof AskbackError ? error.details : undefined
  if (typeof details !== 'object' || details === null || !('retryAfterMs' in details)) return null
  return typeof details.retryAfterMs === 'number' ? details.retryAfterMs : null
}
