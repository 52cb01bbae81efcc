import { AskbackError } from '@askback/protocol'
import { steadyClock, type Clock } from '@askback/core'

/** Longer than every retry pause: if nothing fails for this long, the store is reachable again. */
const QUIET_MS = 15_000

export interface BackgroundErrorLog {
  failed(error: unknown): void
  /** The store is reachable again. `failures` more errors were not logged meanwhile. */
  recovered(outage: { failures: number; ms: number }): void
}

interface Outage {
  since: number
  last: number
  failures: number
}

/**
 * Logs errors of background work. They are collected until the gateway listens, so that a start that fails prints one sentence only.
 * While the store is unreachable, everything that needs it fails every few seconds: the log gets one line when that begins and
 * one when it ends.
 */
export class BackgroundErrors {
  readonly #collected: unknown[] = []
  readonly #clock: Clock
  #log: BackgroundErrorLog | null = null
  #outage: Outage | null = null
  #disarm = () => {}

  constructor(clock: Clock = steadyClock()) {
    this.#clock = clock
  }

  readonly report = (error: unknown): void => {
    if (!this.#log) this.#collected.push(error)
    else if (isUnavailable(error)) this.#countOutage(this.#log, error)
    else this.#log.failed(error)
  }

  sendTo(log: BackgroundErrorLog): void {
    this.#log = log
    for (const error of this.#collected.splice(0)) this.report(error)
  }

  close(): void {
    this.#disarm()
  }

  #countOutage(log: BackgroundErrorLog, error: unknown): void {
    const now = this.#clock.now()
    if (this.#outage) {
      this.#outage.last = now
      this.#outage.failures++
      return
    }
    this.#outage = { since: now, last: now, failures: 0 }
    log.failed(error)
    this.#waitForEnd(log, this.#outage)
  }

  #waitForEnd(log: BackgroundErrorLog, outage: Outage): void {
    this.#disarm = this.#clock.alarm(outage.last + QUIET_MS, () => {
      if (this.#clock.now() < outage.last + QUIET_MS) return this.#waitForEnd(log, outage)
      this.#outage = null
      const { failures, last, since } = outage
      if (failures > 0) log.recovered({ failures, ms: last - since })
    })
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof AskbackError && error.code === 'unavailable'
}
