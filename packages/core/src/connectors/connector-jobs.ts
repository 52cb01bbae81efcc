import { AskbackError, errorCodes } from '@askback/protocol'
import type { Clock } from '../clock.js'

const FIRST_PAUSE_MS = 1000
const LONGEST_PAUSE_MS = 30_000

interface Job {
  /** Whether it has begun, and is not just waiting to try again. */
  busy: boolean
  ended: Promise<boolean>
}

/** Work that is tried again until it is done: a surface that is down for a while gets everything when it is back. */
export class ConnectorJobs {
  readonly #clock: Clock
  readonly #onError: (error: unknown) => void
  readonly #jobs = new Map<string, Job>()
  readonly #wake = new Set<() => void>()
  #stopped = false

  constructor(clock: Clock, onError: (error: unknown) => void) {
    this.#clock = clock
    this.#onError = onError
  }

  /** One at a time for each key. What has not begun stands for all that asked for it meanwhile. Resolves to false if stopped. */
  run(key: string, work: () => Promise<void>): Promise<boolean> {
    const current = this.#jobs.get(key)
    if (current && !current.busy) return current.ended
    return this.queue(key, work)
  }

  /** Every piece of it, in order. */
  queue(key: string, work: () => Promise<void>): Promise<boolean> {
    const before = this.#jobs.get(key)?.ended ?? Promise.resolve(true)
    const job: Job = { busy: false, ended: before.then(() => this.#try(job, work)) }
    this.#jobs.set(key, job)
    void job.ended.then(() => {
      if (this.#jobs.get(key) === job) this.#jobs.delete(key)
    })
    return job.ended
  }

  /** What is under way ends; what waits does not begin. */
  async stop(): Promise<void> {
    this.#stopped = true
    for (const wake of this.#wake) wake()
    await Promise.all([...this.#jobs.values()].map((job) => job.ended))
  }

  async #try(job: Job, work: () => Promise<void>): Promise<boolean> {
    for (let attempt = 0; !this.#stopped; attempt++) {
      try {
        job.busy = true
        await work()
        return true
      } catch (error) {
        job.busy = false
        if (!isPassing(error)) {
          this.#onError(error)
          return true
        }
        await this.#pause(retryAfter(error) ?? Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS))
      }
    }
    return false
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        disarm()
        this.#wake.delete(wake)
        resolve()
      }
      const disarm = this.#clock.alarm(this.#clock.now() + ms, wake)
      this.#wake.add(wake)
    })
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof AskbackError && errorCodes[error.code].retry !== 'never'
}

function retryAfter(error: unknown): number | null {
  const details = error instanceof AskbackError ? error.details : undefined
  if (typeof details !== 'object' || details === null || !('retryAfterMs' in details)) return null
  return typeof details.retryAfterMs === 'number' ? details.retryAfterMs : null
}
