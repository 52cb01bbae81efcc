import { AskbackError } from '@askback/protocol'
import { Members } from './members.js'

/** Whether a gateway is stopping. Long polls end when that begins; other requests in flight are waited for. */
export class Drain {
  #started = false
  readonly #listeners = new Members<() => void>()

  get started(): boolean {
    return this.#started
  }

  start(): void {
    if (this.#started) return
    this.#started = true
    for (const listener of this.#listeners) listener()
  }

  onStart(listener: () => void): () => void {
    if (!this.#started) return this.#listeners.add(listener)
    listener()
    return () => undefined
  }

  /** Throws for a write that would begin now. */
  checkWrite(): void {
    if (!this.#started) return
    throw new AskbackError('unavailable', 'This gateway is stopping. Try again with the same key.')
  }
}
