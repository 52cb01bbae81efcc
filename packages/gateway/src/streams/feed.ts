import type { Advance, Head, Host, Store } from '@askback/core'
import { AskbackError, type LiveEvent, type SessionEvent } from '@askback/protocol'
import { writeOrCut, type Reader } from './open-streams.js'
import { type Encoding, type PageCache, type Page, Pages } from './pages.js'

export interface FeedOptions {
  host: Host
  store: Store
  encoding: Encoding
  cache: PageCache
  /** What may wait in a reader's socket before it is cut. */
  bufferBytes: number
  onError: (error: unknown) => void
}

/**
 * One session for all who read it on one kind of wire. A reader is either behind, and gets pages of the log until it has
 * all, or live, and gets each durable event as the desk tells it; between the two no time passes, so nothing is missed or
 * sent twice. It ends when the desk says that the log is gone, or with the session's last event.
 *
 *   opening --(the desk names the head)--> open --(gone | session ended | nobody reads it)--> closed
 */
export class Feed {
  readonly sessionId: string
  /** Resolves to whether there is such a session. */
  readonly opened: Promise<boolean>
  /** Whoever reads it or is about to; it lives as long as there are some. */
  leases = 0
  readonly #options: FeedOptions
  readonly #live = new Set<Reader>()
  readonly #behind = new Set<Reader>()
  #state: 'opening' | 'open' | 'closed' = 'opening'
  /** Everything up to here was given to those who are live. */
  #head: Head | null = null
  #pages: Pages | null = null
  #stopFollowing: (() => void) | null = null

  constructor(sessionId: string, options: FeedOptions) {
    this.sessionId = sessionId
    this.#options = options
    this.opened = this.#open()
    // Whoever wanted to read it may be gone by then.
    this.opened.catch(() => undefined)
  }

  get closed(): boolean {
    return this.#state === 'closed'
  }

  get logId(): string {
    return this.#head?.logId ?? ''
  }

  /** Whether the log reaches that far. Another process may have written what this one was not told of yet. */
  async reaches(seq: number): Promise<boolean> {
    if (seq > this.#seq && this.#options.store.shared) await this.#options.host.desk.refresh(this.sessionId)
    return seq <= this.#seq
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

  tellLive(event: LiveEvent): void {
    if (this.#live.size === 0) return
    const frame = this.#options.encoding.live(this.sessionId, event)
    for (const reader of this.#live) this.#write(reader, frame)
  }

  close(): void {
    if (this.closed) return
    this.#state = 'closed'
    this.#stopFollowing?.()
    this.#pages?.forget()
    for (const reader of [...this.#behind, ...this.#live]) reader.finish()
    this.#behind.clear()
    this.#live.clear()
  }

  get #seq(): number {
    return this.#head?.seq ?? 0
  }

  async #open(): Promise<boolean> {
    const { host, cache } = this.#options
    try {
      const { head, stop } = await host.desk.follow(this.sessionId, {
        advanced: (advance) => this.#advanced(advance),
        gone: () => this.close(),
      })
      // An event may have come between the head and here.
      this.#head ??= head
      this.#pages = new Pages({ ...this.#options, sessionId: this.sessionId, logId: head.logId }, cache)
      if (this.#isClosed()) stop()
      else {
        this.#stopFollowing = stop
        this.#state = 'open'
      }
      return !this.#isClosed()
    } catch (error) {
      if (error instanceof AskbackError && error.code === 'not_found') return false
      throw error
    }
  }

  /** Asked anew: it may have closed while it waited. */
  #isClosed(): boolean {
    return this.closed
  }

  #advanced({ head, events, texts }: Advance): void {
    if (this.closed) return
    this.#head = head
    if (this.#live.size > 0) {
      const data = this.#options.encoding.events(events, texts())
      for (const reader of this.#live) this.#write(reader, data)
    }
    if (endsLog(events.at(-1)!)) this.close()
  }

  /** Takes a reader as far as its socket lets it, and on when that has drained. */
  #follow(reader: Reader): void {
    const { socket } = reader
    while (this.#behind.has(reader) && !socket.destroyed) {
      if (socket.writableNeedDrain) {
        socket.once('drain', () => this.#follow(reader))
        return
      }
      if (reader.cursor === this.#seq) return this.#join(reader)
      const page = this.#pages!.after(reader.cursor, this.#seq)
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

/** The sessions that somebody reads on one kind of wire. */
export class Feeds {
  readonly #options: FeedOptions
  readonly #feeds = new Map<string, Feed>()
  readonly #stopListening: () => void

  constructor(options: FeedOptions) {
    this.#options = options
    this.#stopListening = options.host.onLive(({ sessionId, event }) =>
      this.#feeds.get(sessionId)?.tellLive(event),
    )
  }

  /** Each lease is released once. */
  lease(sessionId: string): Feed {
    const known = this.#feeds.get(sessionId)
    const feed = known && !known.closed ? known : new Feed(sessionId, this.#options)
    this.#feeds.set(sessionId, feed)
    feed.leases++
    return feed
  }

  release(feed: Feed): void {
    if (--feed.leases > 0) return
    feed.close()
    if (this.#feeds.get(feed.sessionId) === feed) this.#feeds.delete(feed.sessionId)
  }

  get size(): number {
    return this.#feeds.size
  }

  close(): void {
    this.#stopListening()
  }
}

/** Whether the cursor is a place in this log; if not, its owner must take a new snapshot. */
export async function findPlace(feed: Feed, cursor: number, log: unknown): Promise<boolean> {
  if (!(await feed.opened)) throw new AskbackError('not_found', `There is no session ${feed.sessionId}.`)
  return (log === undefined || log === feed.logId) && (await feed.reaches(cursor))
}
