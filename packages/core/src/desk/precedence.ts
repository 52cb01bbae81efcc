/** Lets a command that others keep overtaking go alone in its session. */
export class Precedence {
  readonly #alone = new Map<string, Promise<void>>()

  isTaken(sessionId: string): boolean {
    return this.#alone.size > 0 && this.#alone.has(sessionId)
  }

  /** Resolves when it is free, unless somebody else was faster. */
  async end(sessionId: string): Promise<void> {
    await this.#alone.get(sessionId)
  }

  /** While it is free. Returns what ends it. */
  take(sessionId: string): () => void {
    let end = () => {}
    this.#alone.set(sessionId, new Promise((resolve) => (end = resolve)))
    return () => {
      this.#alone.delete(sessionId)
      end()
    }
  }
}
