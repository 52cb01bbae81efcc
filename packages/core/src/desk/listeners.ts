import type { Advance } from './committed.js'

/** Called with events that became durable in sessions in memory or followed here, in the order of each log. */
export type Listener = (advance: Advance) => void

export type GoneListener = (sessionId: string) => void

/** Calls all listeners. An error in one of them does not affect the others. */
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

  /** Adds a listener for one session. */
  addFor(sessionId: string, listener: () => void): () => void {
    return this.add((advance) => {
      if (advance.sessionId === sessionId) listener()
    })
  }

  advanced(advance: Advance): void {
    for (const { advanced } of this.#listeners) {
      try {
        advanced(advance)
      } catch (error) {
        this.#onError(error)
      }
    }
  }

  gone(sessionId: string): void {
    for (const { gone } of this.#listeners) {
      try {
        gone?.(sessionId)
      } catch (error) {
        this.#onError(error)
      }
    }
  }

  clear(): void {
    this.#listeners.clear()
  }
}
