import type { Socket } from 'node:net'
import type { Feed } from './feed.js'
import type { Feeds } from './feeds.js'
import { findPlace } from './find-place.js'
import type { Reader } from './reader.js'

/** One session on a WebSocket. */
export class Subscription implements Reader {
  readonly socket: Socket
  readonly sessionId: string
  cursor: number
  readonly finish: () => void
  readonly #feeds: Feeds
  #feed: Feed | null = null
  #ended = false

  constructor(
    socket: Socket,
    place: { feeds: Feeds; sessionId: string; cursor: number },
    finish: (subscription: Subscription) => void,
  ) {
    this.socket = socket
    this.sessionId = place.sessionId
    this.cursor = place.cursor
    this.finish = () => finish(this)
    this.#feeds = place.feeds
  }

  get ended(): boolean {
    return this.#ended
  }

  /** Whether its cursor lies in the log. */
  async open(log: string | undefined): Promise<boolean> {
    if (this.#ended) return false
    this.#feed = this.#feeds.lease(this.sessionId)
    return findPlace(this.#feed, this.cursor, log)
  }

  begin(): void {
    this.#feed?.add(this)
  }

  end(): void {
    this.#ended = true
    const feed = this.#feed
    if (!feed) return
    this.#feed = null
    feed.remove(this)
    this.#feeds.release(feed)
  }
}
