import type { Clock } from '../clock.js'

/** The gateway's clock, as far as it is known here: deadlines are told in its time. */
export class ServerClock {
  readonly #clock: Clock
  #offset: number | null = null
  #isKnown = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether it was asked. What has happened tells it, too, but not how long ago that was. */
  get isKnown(): boolean {
    return this.#isKnown
  }

  now(): number {
    return this.#clock.now() + (this.#offset ?? 0)
  }

  /** Reads it anew. */
  async ask<T extends { now: number }>(answering: () => Promise<T>): Promise<T> {
    const asked = this.#clock.now()
    const answer = await answering()
    this.#offset = answer.now - (asked + this.#clock.now()) / 2
    this.#isKnown = true
    return answer
  }

  /** What has happened is not in the future, whatever our clock was set to since. */
  heard(at: number): void {
    const offset = at - this.#clock.now()
    this.#offset = Math.max(this.#offset ?? offset, offset)
  }
}
