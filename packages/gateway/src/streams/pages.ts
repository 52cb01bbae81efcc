import type { Store } from '@askback/core'
import { AskbackError, type LiveEvent, type SessionEvent } from '@askback/protocol'

/** Pages end at multiples of this, so that readers who began at different cursors soon share them. */
const EVENTS_PER_PAGE = 256

let made = 0

interface PageSource {
  store: Store
  sessionId: string
  encoding: Encoding
  logId: string
}

/** One session's log as pages of frames. A page is read and made once for all who ask for it while it is kept. */
export class Pages {
  readonly #source: PageSource
  readonly #cache: PageCache
  /** A session that is deleted and made anew under its old id must not find the old one's pages. */
  readonly #name = `${++made}`
  readonly #cached = new Set<number>()
  readonly #reading = new Map<number, { last: number; page: Promise<Page | null> }>()

  constructor(source: PageSource, cache: PageCache) {
    this.#source = source
    this.#cache = cache
  }

  /** The events after `cursor`, up to `head` at most, which is durable; `null` if the log is gone. */
  after(cursor: number, head: number): Page | Promise<Page | null> {
    const end = cursor + EVENTS_PER_PAGE - (cursor % EVENTS_PER_PAGE)
    const last = Math.min(end, head)
    const cached = this.#cache.get(this.#key(cursor))
    // The log has grown since a shorter one was made.
    if (cached && cached.last >= last) return cached
    const reading = this.#reading.get(cursor)
    if (reading && reading.last >= last) return reading.page
    const page = this.#read(cursor, last).finally(() => {
      if (this.#reading.get(cursor)?.page === page) this.#reading.delete(cursor)
    })
    this.#reading.set(cursor, { last, page })
    return page
  }

  forget(): void {
    for (const cursor of this.#cached) this.#cache.delete(this.#key(cursor))
  }

  async #read(cursor: number, last: number): Promise<Page | null> {
    const { store, sessionId, encoding, logId } = this.#source
    const events = await store.read({ sessionId, after: cursor, limit: last - cursor })
    const newest = events.at(-1)
    // If the log is still there after the read, the page came from it: a log that is gone does not come back.
    const [first] = store.shared || !newest ? await store.read({ sessionId, limit: 1 }) : [{ id: logId }]
    if (first?.id !== logId) return null
    if (!newest)
      throw new AskbackError('unavailable', `Session ${sessionId} cannot be read from ${cursor} on.`)
    const texts = events.map((event) => JSON.stringify(event))
    const page = { data: encoding.events(events, texts), last: newest.seq }
    this.#cache.set(this.#key(cursor), page)
    this.#cached.add(cursor)
    return page
  }

  #key(cursor: number): string {
    return `${this.#name} ${cursor}`
  }
}

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

/** How events look on one kind of wire. What it makes is written to sockets as it is, and never changed. */
export interface Encoding {
  /** One frame each, in one piece. `texts` are the events as JSON. */
  events(events: SessionEvent[], texts: string[]): Buffer
  /** Without a place in the log. */
  live(sessionId: string, event: LiveEvent): Buffer
  /** The reader's cursor is of no use: it takes a new snapshot. */
  resync(sessionId: string): Buffer
}
