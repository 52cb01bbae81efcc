type Outcome<T> = IteratorResult<T, undefined>

/** Hands values from callbacks to one `for await`, in order; none is lost in between. */
export class AsyncQueue<T> implements AsyncIterableIterator<T, undefined> {
  readonly #values: T[] = []
  #waiting: { resolve: (outcome: Outcome<T>) => void; reject: (error: unknown) => void } | null = null
  #end: { error?: unknown } | null = null
  readonly #onReturn: () => void

  /** `onReturn` is called once, when the reader leaves or the queue has ended. */
  constructor(onReturn: () => void = () => undefined) {
    this.#onReturn = onReturn
  }

  push(value: T): void {
    if (this.#end) return
    if (!this.#waiting) this.#values.push(value)
    else this.#take()?.resolve({ done: false, value })
  }

  /** What was pushed before is still read. */
  end(): void {
    if (this.#end) return
    this.#end = {}
    this.#onReturn()
    this.#take()?.resolve({ done: true, value: undefined })
  }

  fail(error: unknown): void {
    if (this.#end) return
    this.#end = { error }
    this.#onReturn()
    const waiting = this.#take()
    if (!waiting) return
    this.#end = {}
    waiting.reject(error)
  }

  async next(): Promise<Outcome<T>> {
    if (this.#values.length > 0) return { done: false, value: this.#values.shift()! }
    const ended = this.#end
    if (ended && 'error' in ended) {
      this.#end = {}
      throw ended.error
    }
    if (ended) return { done: true, value: undefined }
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
    })
  }

  async return(): Promise<Outcome<T>> {
    this.#values.length = 0
    this.end()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #take() {
    const waiting = this.#waiting
    this.#waiting = null
    return waiting
  }
}
