/** Frames of the events after a cursor, up to `last`, in one piece. */
export interface Page {
  data: Buffer
  last: number
}

/**
 * Older frames that somebody asked for, of all sessions together, the longest unused first to go: those who reconnect
 * mostly ask for the same.
 */
export class PageCache {
  readonly #limit: number
  readonly #pages = new Map<string, Page>()
  #bytes = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get(key: string): Page | undefined {
    const page = this.#pages.get(key)
    if (page) {
      this.#pages.delete(key)
      this.#pages.set(key, page)
    }
    return page
  }

  set(key: string, page: Page): void {
    this.delete(key)
    this.#pages.set(key, page)
    this.#bytes += page.data.length
    for (const oldest of this.#pages.keys()) {
      if (this.#bytes <= this.#limit) break
      this.delete(oldest)
    }
  }

  delete(key: string): void {
    const page = this.#pages.get(key)
    if (!page) return
    this.#pages.delete(key)
    this.#bytes -= page.data.length
  }

  get bytes(): number {
    return this.#bytes
  }
}
