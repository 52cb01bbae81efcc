import type { Clock } from '@askback/core'

/** A key that was on its way when something came must not decide it. */
const ARM_MS = 300

/** What is asked for now, and whether the keys are meant for it: who types on has not seen yet that it came. */
export class Arming {
  readonly #clock: Clock
  #target: string | null = null
  #armsAt = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  aim(target: string): void {
    if (this.#target === target) return
    this.#target = target
    this.#armsAt = this.#clock.now() + ARM_MS
  }

  /** How long the keys have to rest. */
  get restMs(): number {
    return Math.max(this.#armsAt - this.#clock.now(), 0)
  }

  /** Whether this key counts. One that does not begins the time anew: a held key never counts. */
  press(): boolean {
    if (this.restMs === 0) return true
    this.#armsAt = this.#clock.now() + ARM_MS
    return false
  }
}
