import type { Advance } from './committed.js'

/** Told what became durable in the sessions that this process has in memory or follows, in the order of each log. */
export type Listener = (advance: Advance) => void

export type GoneListener = (sessionId: string) => void

/** Calls everyone; what goes wrong in one of them keeps nothing from the others. */
export class Listeners {
  readonly #listeners = new Set<{ advanced: Listener; gone: GoneListener | undefined }>()
  readonly #onError: (error: unknown) => void

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError
  }

  add(advanced: Listener, gone?: GoneListener): () => void {
    const entry = { advanced, gone }
    this.#listeners.add(entry)
    return () => this.#listeners.delete(entry)
  }

  /** For one session. */
  addFor(sessionId: string, heard: () => void): () => void {
    return this.add((advance) => {
      if (advance.sessionId === sessionId) heard()
    })
  }

  advanced(advance: Advance): void {
    for (const { advanced } of this.#listeners) this.#call(() => advanced(advance))
  }

  gone(sessionId: string): void {
    for (const { gone } of this.#listeners) this.#call(() => gone?.(sessionId))
  }

  clear(): void {
    this.#listeners.clear()
  }

  #call(listener: () => void): void {
    try {
      listener()
    } catch (error) {
      this.#onError(error)
    }
  }
}
