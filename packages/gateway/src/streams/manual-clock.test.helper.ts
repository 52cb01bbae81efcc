import type { Clock } from '@askback/core'

/** A clock that moves only when the test advances it. */
export class ManualClock implements Clock {
  #now = 1_800_000_000_000
  readonly #alarms = new Set<{ at: number; wake: () => void }>()

  get armed(): number {
    return this.#alarms.size
  }

  now(): number {
    return this.#now
  }

  alarm(at: number, wake: () => void): () => void {
    const alarm = { at, wake }
    this.#alarms.add(alarm)
    return () => this.#alarms.delete(alarm)
  }

  advance(ms: number): void {
    this.#now += ms
    for (const alarm of this.#alarms) {
      if (alarm.at > this.#now) continue
      this.#alarms.delete(alarm)
      alarm.wake()
    }
  }
}
