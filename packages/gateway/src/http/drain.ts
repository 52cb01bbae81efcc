import { AskbackError } from '@askback/protocol'

/** Whether a gateway is stopping. Long polls end when that begins; other requests in flight are waited for. */
export class Drain {
  #started = false
  readonly #listeners = new Set<() => void>()

  get started(): boolean {
    return this.#started
  }

  start(): void {
    this.#started = true
    for (const listener of this.#listeners) listener()
    this.#listeners.clear()
  }

  onStart(listener: () => void): () => void {
    if (this.#started) listener()
    else this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Throws for a write that would begin now. */
  checkWrite(): void {
    if (!this.#started) return
    throw new AskbackError('unavailable', 'This gateway is stopping. Try again with the same key.')
  }
}
