import type { Clock } from '../clock.js'

/** The gateway's clock, as far as it is known here: deadlines are told in its time. */
export class ServerClock {
  readonly #clock: Clock
  #offset: number | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get isKnown(): boolean {
    return this.#offset !== null
  }

  now(): number {
    return this.#clock.now() + (this.#offset ?? 0)
  }

  /** Reads it anew. */
  async ask<T extends { now: number }>(answering: () => Promise<T>): Promise<T> {
    const asked = this.#clock.now()
    const answer = await answering()
    this.#offset = answer.now - (asked + this.#clock.now()) / 2
    return answer
  }

  /** What has happened is not in the future, whatever our clock was set to since. */
  heard(at: number): void {
    if (this.#offset !== null) this.#offset = Math.max(this.#offset, at - this.#clock.now())
  }
}
