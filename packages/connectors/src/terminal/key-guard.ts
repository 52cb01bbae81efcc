import type { Clock } from '@askback/core'

/** How long the keyboard must be quiet after a new card appears. People need about this long to notice it. */
const QUIET_MS = 300

/**
 * Ignores keys that were meant for something else. When a card appears, a person may still be typing, and those keys must not
 * decide it. Keys count only after the keyboard was quiet for a while; a held key therefore never counts.
 */
export class KeyGuard {
  readonly #clock: Clock
  #target: string | null = null
  #acceptsAt = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Says what the next keys would act on. The quiet time begins if that is something new. */
  setTarget(target: string): void {
    if (this.#target === target) return
    this.#target = target
    this.#acceptsAt = this.#clock.now() + QUIET_MS
  }

  /** How much longer the keyboard must be quiet. */
  get remainingMs(): number {
    return Math.max(this.#acceptsAt - this.#clock.now(), 0)
  }

  /** Whether a key that is pressed now counts. If not, the quiet time begins again. */
  acceptKey(): boolean {
    if (this.remainingMs === 0) return true
    this.#acceptsAt = this.#clock.now() + QUIET_MS
    return false
  }
}
