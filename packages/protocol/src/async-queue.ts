/**
 * Hands values from callbacks to one `for await` loop, in order and without losing any. Values that nobody has read yet are
 * buffered; a read that finds the buffer empty waits for the next `push`, `end` or `fail`. It has one reader: two reads at
 * the same time are not supported.
 *
 * @internal
 */
export class AsyncQueue<T> implements AsyncIterableIterator<T, undefined> {
  readonly #values: T[] = []
  #reader: {
    resolve: (result: IteratorResult<T, undefined>) => void
    reject: (error: unknown) => void
  } | null = null
  /** Set once no more values are taken; `error` is there until the reader has got it. */
  #end: { error?: unknown } | null = null
  readonly #onEnd: () => void

  /** @param onEnd - called once, when the queue ends, fails, or its reader leaves the loop */
  constructor(onEnd: () => void = () => undefined) {
    this.#onEnd = onEnd
  }

  /** Does nothing after the end. */
  push(value: T): void {
    if (this.#end) return
    if (!this.#reader) this.#values.push(value)
    else this.#takeReader()?.resolve({ done: false, value })
  }

  /** Ends the loop, after the values that were pushed before. */
  end(): void {
    if (this.#end) return
    this.#end = {}
    this.#onEnd()
    this.#takeReader()?.resolve({ done: true, value: undefined })
  }

  /** Makes the loop throw `error`, after the values that were pushed before. */
  fail(error: unknown): void {
    if (this.#end) return
    this.#end = { error }
    this.#onEnd()
    const reader = this.#takeReader()
    if (!reader) return
    this.#end = {}
    reader.reject(error)
  }

  async next(): Promise<IteratorResult<T, undefined>> {
    if (this.#values.length > 0) return { done: false, value: this.#values.shift()! }
    const end = this.#end
    if (end && 'error' in end) {
      this.#end = {}
      throw end.error
    }
    if (end) return { done: true, value: undefined }
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject }
    })
  }

  /** Called by `for await` when the reader leaves the loop: what is buffered is dropped. */
  async return(): Promise<IteratorResult<T, undefined>> {
    this.#values.length = 0
    this.end()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #takeReader() {
    const reader = this.#reader
    this.#reader = null
    return reader
  }
}
