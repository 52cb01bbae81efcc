import type { UserInput } from './sdk.js'

/** What the agent is sent, one message after the other, for as long as its process lives. */
export class InputQueue implements AsyncIterable<UserInput> {
  readonly #waiting: UserInput[] = []
  #wake: () => void = () => {}
  #closed = false

  push(message: UserInput): void {
    this.#waiting.push(message)
    this.#wake()
  }

  close(): void {
    this.#closed = true
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<UserInput> {
    for (;;) {
      const next = this.#waiting.shift()
      if (next) yield next
      else if (this.#closed) return
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
    }
  }
}
