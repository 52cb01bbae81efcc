/** Runs the work for one key in the order in which it was submitted, each after the one before has ended. */
export class InOrder {
  readonly #last = new Map<string, Promise<unknown>>()

  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key)
    // An earlier failure is reported to its own caller.
    const running = before ? before.then(work, work) : work()
    this.#last.set(key, running)
    const forget = () => {
      if (this.#last.get(key) === running) this.#last.delete(key)
    }
    running.then(forget, forget)
    return running
  }
}
