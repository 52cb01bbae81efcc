import { systemClock, type Clock } from './clock.js'

export interface Timing {
  clock?: Clock
  /** From 0 to 1, without 1. */
  random?: () => number
}

const FIRST_MS = 250
const LONGEST_MS = 30_000

/** Waits between attempts: longer each time, never quite alike on two machines, and cut short when there is hope. */
export class Pauses {
  readonly clock: Clock
  readonly #random: () => number
  readonly #waiting = new Set<() => void>()

  constructor({ clock = systemClock, random = Math.random }: Timing = {}) {
    this.clock = clock
    this.#random = random
  }

  /** Before the attempt that follows so many failures. Resolves early when `signal` aborts. */
  async before(failures: number, signal?: AbortSignal, atLeastMs = 0): Promise<void> {
    const full = Math.min(FIRST_MS * 2 ** Math.max(failures - 1, 0), LONGEST_MS)
    await this.pause(Math.max(full * (0.5 + this.#random() / 2), atLeastMs), signal)
  }

  async pause(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return
    await new Promise<void>((resolve) => {
      const done = () => {
        disarm()
        this.#waiting.delete(done)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      const disarm = this.clock.alarm(this.clock.now() + ms, done)
      this.#waiting.add(done)
      signal?.addEventListener('abort', done)
    })
  }

  /** Everyone who waits goes on now. */
  wake(): void {
    for (const done of this.#waiting) done()
  }
}
