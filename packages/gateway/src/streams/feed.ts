import type { Host, Listener, Store } from '@askback/core'
import type { LiveEvent, SessionEvent } from '@askback/protocol'
import type { Encoding } from './encoding.js'
import type { PageCache, Page } from './page-cache.js'
import { Pages } from './pages.js'
import { writeOrCut, type Reader } from './reader.js'

export interface FeedOptions {
  host: Host
  store: Store
  encoding: Encoding
  cache: PageCache
  /** What may wait in a reader's socket before it is cut. */
  bufferBytes: number
  onError: (error: unknown) => void
}

const GAP_PAGE = 1000

/**
 * One session for all who read it on one kind of wire. A reader is either behind, and gets pages of the log until it has
 * all, or live, and gets each append as it is told; between the two no time passes, so nothing is missed or sent twice.
 */
export class Feed {
  readonly sessionId: string
  /** Resolves to whether there is such a session. */
  readonly opened: Promise<boolean>
  /** Whoever reads it or is about to; it lives as long as there are some. */
  leases = 0
  logId = ''
  readonly #options: FeedOptions
  readonly #pages: Pages
  readonly #live = new Set<Reader>()
  readonly #behind = new Set<Reader>()
  /** Everything up to here was given to those who are live. */
  #head = 0
  /** Everything up to here is in the log, as far as we were told. */
  #told = 0
  #state: 'opening' | 'level' | 'filling' | 'closed' = 'opening'
  #filled = Promise.resolve()

  constructor(sessionId: string, options: FeedOptions) {
    this.sessionId = sessionId
    this.#options = options
    this.#pages = new Pages({ ...options, sessionId }, options.cache)
    this.opened = this.#open()
    // Whoever wanted to read it may be gone by then.
    this.opened.catch(() => undefined)
  }

  get closed(): boolean {
    return this.#state === 'closed'
  }

  /** Whether the log reaches that far. Another process may have written what this one was not told of yet. */
  async reaches(seq: number): Promise<boolean> {
    if (seq > this.#head) {
      this.#hear((await this.#last())?.seq ?? 0)
      await this.#filled
    }
    return seq <= this.#head
  }

  /** Its cursor must lie in the log. */
  add(reader: Reader): void {
    if (this.closed) return reader.finish()
    this.#behind.add(reader)
    this.#follow(reader)
  }

  remove(reader: Reader): void {
    if (!this.#live.delete(reader)) this.#behind.delete(reader)
  }

  tell({ seq, events, texts }: Parameters<Listener>[0]): void {
    if (this.#state === 'opening') this.#told = Math.max(this.#told, seq)
    if (this.#state === 'opening' || this.closed) return
    const known = this.#head + 1 - (events[0]?.seq ?? Infinity)
    if (known >= 0 && known < events.length) this.#give(events.slice(known), () => texts().slice(known))
    this.#hear(seq)
  }

  tellLive(event: LiveEvent): void {
    if (this.#live.size === 0) return
    const frame = this.#options.encoding.live(this.sessionId, event)
    for (const reader of this.#live) this.#write(reader, frame)
  }

  close(): void {
    if (this.closed) return
    this.#state = 'closed'
    this.#pages.forget()
    for (const reader of [...this.#behind, ...this.#live]) reader.finish()
    this.#behind.clear()
    this.#live.clear()
  }

  async #open(): Promise<boolean> {
    const [first] = await this.#options.store.read({ sessionId: this.sessionId, limit: 1 })
    const last = await this.#last()
    if (this.closed || !first || !last || endsLog(last)) return false
    this.logId = first.id
    this.#head = last.seq
    this.#state = 'level'
    this.#hear(last.seq)
    return true
  }

  async #last(): Promise<SessionEvent | undefined> {
    const { sessionId } = this
    const [last] = await this.#options.store.read({ sessionId, before: Number.MAX_SAFE_INTEGER, limit: 1 })
    return last
  }

  #hear(seq: number): void {
    this.#told = Math.max(this.#told, seq)
    if (this.#state !== 'level' || this.#told <= this.#head) return
    this.#state = 'filling'
    this.#filled = this.#fill().catch((error: unknown) => {
      // Its readers come back, and are told then what became of the store.
      this.#options.onError(error)
      this.close()
    })
  }

  /** Reads what was told without being shown. */
  async #fill(): Promise<void> {
    const { sessionId } = this
    while (this.#told > this.#head) {
      const page = await this.#options.store.read({ sessionId, after: this.#head, limit: GAP_PAGE })
      if (this.closed) return
      // What was told to be there has been erased.
      if (page.length === 0) return this.close()
      const fresh = page.filter((event) => event.seq > this.#head)
      if (fresh.length > 0) this.#give(fresh, () => fresh.map((event) => JSON.stringify(event)))
    }
    if (this.#state === 'filling') this.#state = 'level'
  }

  #give(events: SessionEvent[], texts: () => string[]): void {
    const newest = events.at(-1)!
    this.#head = newest.seq
    if (this.#live.size > 0) {
      const data = this.#options.encoding.events(events, texts())
      for (const reader of this.#live) this.#write(reader, data)
    }
    if (endsLog(newest)) this.close()
  }

  /** Takes a reader as far as its socket lets it, and on when that has drained. */
  #follow(reader: Reader): void {
    const { socket } = reader
    while (this.#behind.has(reader) && !socket.destroyed) {
      if (socket.writableNeedDrain) {
        socket.once('drain', () => this.#follow(reader))
        return
      }
      if (reader.cursor === this.#head) return this.#join(reader)
      const page = this.#pages.after(reader.cursor, this.#head)
      if (page instanceof Promise) {
        this.#followAfter(page, reader)
        return
      }
      socket.write(page.data)
      reader.cursor = page.last
    }
  }

  #followAfter(page: Promise<Page | null>, reader: Reader): void {
    page
      .then((read) => {
        if (!read) return this.close()
        if (!this.#behind.has(reader)) return
        reader.socket.write(read.data)
        reader.cursor = read.last
        this.#follow(reader)
      })
      .catch((error: unknown) => {
        this.#options.onError(error)
        reader.socket.destroy()
      })
  }

  #join(reader: Reader): void {
    this.#behind.delete(reader)
    this.#live.add(reader)
    for (const block of this.#options.host.liveBlocks(this.sessionId))
      this.#write(reader, this.#options.encoding.live(this.sessionId, block))
  }

  #write(reader: Reader, data: Buffer): void {
    writeOrCut(reader.socket, data, this.#options.bufferBytes)
  }
}

/** The last event of a session that is being deleted. */
function endsLog(event: SessionEvent): boolean {
  return event.type === 'session_status' && event.status === 'ended'
}
