import type { SessionEvent } from '@askback/protocol'

/** `events` may be empty, or not the next ones for whoever listens: the log itself is in the store. */
export type Listener = (appended: {
  sessionId: string
  seq: number
  events: SessionEvent[]
  /** The same as JSON, one text each. */
  texts: () => string[]
}) => void

/** Who is told of each commit. What goes wrong in one of them keeps nothing from the others. */
export class Listeners {
  readonly #listeners = new Set<Listener>()
  readonly #onError: (error: unknown) => void

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError
  }

  add(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  tell(appended: Parameters<Listener>[0]): void {
    for (const listener of this.#listeners) {
      try {
        listener(appended)
      } catch (error) {
        this.#onError(error)
      }
    }
  }

  clear(): void {
    this.#listeners.clear()
  }
}
