import type { Advance, Head, Host, Store } from '@askback/core'
import { AskbackError, type LiveEvent, type SessionEvent } from '@askback/protocol'
import { writeOrDisconnect, type EventReader } from './open-streams.js'
import type { StreamGuard } from './register.js'
import { type Encoding, type PageCache, type FramePage, Pages } from './pages.js'

export interface FeedOptions {
  host: Host
  store: Store
  encoding: Encoding
  cache: PageCache
  /** A reader whose socket has more bytes waiting is disconnected. */
  bufferBytes: number
  onError: (error: unknown) => void
}

/**
 * Delivers the events of one session to all its readers on one kind of connection (SSE or WebSocket).
 *
 *   feed:    opening --(the desk returns the head)--> open --(log gone | session ended | no users)--> closed
 *   reader:  behind  --(its cursor reaches the head)--> live
 *   reader with a guard:  behind | live  --(the tags change)--> checking  --(may read)--> behind;  checking --(may not)--> finished
 *
 * A reader that is behind gets pages of the log, as fast as its socket drains. A live reader gets each committed event from the desk.
 * The check that a reader has reached the head and its change to live happen in the same tick, so no event is missed or sent twice.
 * When a feed closes, its readers are finished: their clients load a new snapshot.
 */
export class Feed {
  readonly sessionId: string
  /** Resolves to whether the session exists. */
  readonly opened: Promise<boolean>
  /** How many readers it has or will have soon. `Feeds` closes it when there are none. */
  users = 0
  readonly #options: FeedOptions
  readonly #live = new Set<EventReader>()
  /** Each with a token for its loop of pages: a loop that was interrupted for a check must not go on beside the next one. */
  readonly #behind = new Map<EventReader, object>()
  /** Readers that get nothing until it is clear that they may still read the session. */
  readonly #checking = new Set<EventReader>()
  /** Counts the changes of tags. */
  #tagChanges = 0
  #state: 'opening' | 'open' | 'closed' = 'opening'
  /** Live readers have everything up to here. */
  #head: Head | null = null
  #pages: Pages | null = null
  #stopFollowing: (() => void) | null = null

  constructor(sessionId: string, options: FeedOptions) {
    this.sessionId = sessionId
    this.#options = options
    this.opened = this.#open()
    // The reader that awaits this may have disconnected.
    this.opened.catch(() => undefined)
  }

  get closed(): boolean {
    return this.#state === 'closed'
  }

  get logId(): string {
    return this.#head?.logId ?? ''
  }

  /** Whether the log has this event. Another process may have written it before its doorbell arrived here. */
  async reaches(seq: number): Promise<boolean> {
    if (seq > this.#seq && this.#options.store.shared) await this.#options.host.desk.refresh(this.sessionId)
    return seq <= this.#seq
  }

  /** Starts to deliver after the reader's cursor, which must be in the log: see `isInLog`. */
  add(reader: EventReader): void {
    if (this.closed) return reader.finish()
    const loop = {}
    this.#behind.set(reader, loop)
    this.#catchUp(reader, loop)
  }

  remove(reader: EventReader): void {
    if (!this.#live.delete(reader) && !this.#behind.delete(reader)) this.#checking.delete(reader)
  }

  /** Rejects if the session may not be read. `add` must follow in the same tick: later changes of tags are checked for each reader. */
  async checkReader(guard: StreamGuard | null): Promise<void> {
    if (!guard) return
    for (let checked = -1; checked !== this.#tagChanges;) {
      checked = this.#tagChanges
      await guard.check(this.sessionId, 'read')
    }
  }

  /** Finishes the readers that may no longer read the session, because the embedder decides otherwise by now. */
  checkReaders(): void {
    for (const reader of [...this.#live, ...this.#behind.keys()]) {
      if (!reader.guard) continue
      void reader.guard.mayRead(this.sessionId).then((may) => {
        if (!may && (this.#live.has(reader) || this.#behind.has(reader))) this.#refuse(reader)
      })
    }
  }

  publishLive(event: LiveEvent): void {
    if (this.#live.size === 0) return
    const frame = this.#options.encoding.live(this.sessionId, event)
    for (const reader of this.#live) this.#write(reader, frame)
  }

  close(): void {
    if (this.closed) return
    this.#state = 'closed'
    this.#stopFollowing?.()
    this.#pages?.forget()
    for (const reader of [...this.#behind.keys(), ...this.#live, ...this.#checking]) reader.finish()
    this.#behind.clear()
    this.#live.clear()
    this.#checking.clear()
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
      // An event may have arrived since the desk returned the head.
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

  /** A method, because TypeScript would assume that `closed` cannot change during an await. */
  #isClosed(): boolean {
    return this.closed
  }

  #advanced({ head, events, texts }: Advance): void {
    if (this.closed) return
    this.#head = head
    const tagged = events.findIndex(({ type }) => type === 'session_tags')
    if (tagged >= 0) this.#checkAfterTags(events, texts, tagged)
    if (this.#live.size > 0) {
      const data = this.#options.encoding.events(events, texts())
      for (const reader of this.#live) this.#write(reader, data)
    }
    if (endsLog(events.at(-1)!)) this.close()
  }

  /** Readers with a guard get the events from the change of tags on only if they may still read the session. */
  #checkAfterTags(events: SessionEvent[], texts: () => string[], tagged: number): void {
    this.#tagChanges++
    const live = [...this.#live].filter(({ guard }) => guard)
    const behind = [...this.#behind.keys()].filter(({ guard }) => guard)
    if (live.length > 0 && tagged > 0) {
      const before = this.#options.encoding.events(events.slice(0, tagged), texts().slice(0, tagged))
      for (const reader of live) this.#write(reader, before)
    }
    for (const reader of live) reader.cursor = events[tagged]!.seq - 1
    for (const reader of [...live, ...behind]) {
      this.remove(reader)
      this.#checking.add(reader)
      void this.#check(reader)
    }
  }

  /** Another change of tags during the check starts another one. */
  async #check(reader: EventReader): Promise<void> {
    let may = false
    for (let checked = -1; checked !== this.#tagChanges && this.#checking.has(reader);) {
      checked = this.#tagChanges
      may = (await reader.guard?.mayRead(this.sessionId)) ?? true
    }
    if (!this.#checking.delete(reader)) return
    if (may) this.add(reader)
    else this.#refuse(reader)
  }

  #refuse(reader: EventReader): void {
    this.remove(reader)
    reader.finish()
  }

  /** Writes pages until the socket is full, and continues when it has drained. */
  #catchUp(reader: EventReader, loop: object): void {
    const { socket } = reader
    while (this.#behind.get(reader) === loop && !socket.destroyed) {
      if (socket.writableNeedDrain) {
        socket.once('drain', () => this.#catchUp(reader, loop))
        return
      }
      if (reader.cursor === this.#seq) return this.#goLive(reader)
      const page = this.#pages!.after(reader.cursor, this.#seq)
      if (page instanceof Promise) {
        this.#catchUpAfter(page, reader, loop)
        return
      }
      socket.write(page.data)
      reader.cursor = page.last
    }
  }

  #catchUpAfter(page: Promise<FramePage | null>, reader: EventReader, loop: object): void {
    page
      .then((read) => {
        if (!read) return this.close()
        if (this.#behind.get(reader) !== loop) return
        reader.socket.write(read.data)
        reader.cursor = read.last
        this.#catchUp(reader, loop)
      })
      .catch((error: unknown) => {
        this.#options.onError(error)
        reader.socket.destroy()
      })
  }

  #goLive(reader: EventReader): void {
    this.#behind.delete(reader)
    this.#live.add(reader)
    for (const block of this.#options.host.liveBlocks(this.sessionId))
      this.#write(reader, this.#options.encoding.live(this.sessionId, block))
  }

  #write(reader: EventReader, data: Buffer): void {
    writeOrDisconnect(reader.socket, data, this.#options.bufferBytes)
  }
}

/** Whether this is the last event of a session that is being deleted. */
function endsLog(event: SessionEvent): boolean {
  return event.type === 'session_status' && event.status === 'ended'
}

/** The open feeds of one kind of connection, by session. */
export class Feeds {
  readonly #options: FeedOptions
  readonly #feeds = new Map<string, Feed>()
  readonly #stopListening: () => void

  constructor(options: FeedOptions) {
    this.#options = options
    this.#stopListening = options.host.onLive(({ sessionId, event }) =>
      this.#feeds.get(sessionId)?.publishLive(event),
    )
  }

  /** The feed of a session. The caller must call `release` once. */
  acquire(sessionId: string): Feed {
    const open = this.#feeds.get(sessionId)
    const feed = open && !open.closed ? open : new Feed(sessionId, this.#options)
    this.#feeds.set(sessionId, feed)
    feed.users++
    return feed
  }

  release(feed: Feed): void {
    if (--feed.users > 0) return
    feed.close()
    if (this.#feeds.get(feed.sessionId) === feed) this.#feeds.delete(feed.sessionId)
  }

  get size(): number {
    return this.#feeds.size
  }

  checkReaders(): void {
    for (const feed of this.#feeds.values()) feed.checkReaders()
  }

  close(): void {
    this.#stopListening()
  }
}

/**
 * Whether the cursor is a position in the log of this feed. If not, its client must load a new snapshot. Rejects with `not_found` if there is
 * no such session.
 */
export async function isInLog(feed: Feed, cursor: number, log: unknown): Promise<boolean> {
  if (!(await feed.opened)) throw new AskbackError('not_found', `There is no session ${feed.sessionId}.`)
  return (log === undefined || log === feed.logId) && (await feed.reaches(cursor))
}
