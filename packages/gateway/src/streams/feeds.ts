import { Feed, type FeedOptions } from './feed.js'

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
