import type { Store } from '@askback/core'
import { AskbackError, type LiveEvent, type SessionEvent } from '@askback/protocol'

/** Pages end at multiples of this, so that readers with different cursors soon share them. */
const EVENTS_PER_PAGE = 256

let pagesCreated = 0

interface PageSource {
  store: Store
  sessionId: string
  encoding: Encoding
  logId: string
}

/** One session's log as pages of encoded frames. A page is read and encoded once for all readers while it is cached. */
export class Pages {
  readonly #source: PageSource
  readonly #cache: PageCache
  /** Part of the cache keys: a session that is created again under an old id must not find the pages of the old log. */
  readonly #name = `${++pagesCreated}`
  readonly #cached = new Set<number>()
  readonly #reading = new Map<number, { last: number; page: Promise<FramePage | null> }>()

  constructor(source: PageSource, cache: PageCache) {
    this.#source = source
    this.#cache = cache
  }

  /** The events after `cursor`, at most up to the committed `head`; `null` if the log is gone. */
  after(cursor: number, head: number): FramePage | Promise<FramePage | null> {
    const end = cursor + EVENTS_PER_PAGE - (cursor % EVENTS_PER_PAGE)
    const last = Math.min(end, head)
    const cached = this.#cache.get(this.#key(cursor))
    // A shorter page was encoded before the log grew, and is not used.
    if (cached && cached.last >= last) return cached
    const reading = this.#reading.get(cursor)
    if (reading && reading.last >= last) return reading.page
    const page = this.#read(cursor, last).finally(() => {
      if (this.#reading.get(cursor)?.page === page) this.#reading.delete(cursor)
    })
    this.#reading.set(cursor, { last, page })
    return page
  }

  /** Removes the pages of this log from the cache. */
  forget(): void {
    for (const cursor of this.#cached) this.#cache.delete(this.#key(cursor))
  }

  async #read(cursor: number, last: number): Promise<FramePage | null> {
    const { store, sessionId, encoding, logId } = this.#source
    const events = await store.read({ sessionId, after: cursor, limit: last - cursor })
    const newest = events.at(-1)
    // If the log still exists after the read, the page came from it: a deleted log does not come back.
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

/** The frames of the events after a cursor, up to `last`, in one buffer. */
export interface FramePage {
  data: Buffer
  last: number
}

/**
 * Least-recently-used cache of pages of all sessions, limited by bytes. Clients that reconnect after a restart mostly ask for the same
 * pages.
 */
export class PageCache {
  readonly #maxBytes: number
  readonly #pages = new Map<string, FramePage>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get(key: string): FramePage | undefined {
    const page = this.#pages.get(key)
    if (page) {
      this.#pages.delete(key)
      this.#pages.set(key, page)
    }
    return page
  }

  set(key: string, page: FramePage): void {
    this.delete(key)
    this.#pages.set(key, page)
    this.#bytes += page.data.length
    for (const oldest of this.#pages.keys()) {
      if (this.#bytes <= this.#maxBytes) break
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

/** Encodes events for one kind of connection. The buffers are shared by all readers, so they must not be changed. */
export interface Encoding {
  /** One frame for each event, in one buffer. `texts` are the events as JSON. */
  events(events: SessionEvent[], texts: string[]): Buffer
  /** An event that is not in the log, such as a delta of a block. */
  live(sessionId: string, event: LiveEvent): Buffer
  /** Tells the client that its cursor is not in the log: it loads a new snapshot. */
  resync(sessionId: string): Buffer
}
