import type { Clock } from '@askback/core'
import type { SessionTags } from '@askback/protocol'
import { writeOrDisconnect, type EventReader } from './open-streams.js'
import type { StreamGuard } from './register.js'

/** A decision of `authorize` is used this long for the events of one session, if its tags do not change. */
const DECISION_MS = 15_000
/** A reader for which more bytes wait for decisions is disconnected; it loads its lists when it comes back. */
const MAX_WAITING_BYTES = 1024 * 1024

export type AllEventsReader = Pick<EventReader, 'socket' | 'guard' | 'finish'>

/** What happened in one session. */
export interface SessionNews {
  sessionId: string
  /** Encoded events; `null` if there are none for the stream over all sessions. */
  data: Buffer | null
  /** Set if the tags of the session changed: those before; `null` in the log of an older version, which does not have them. */
  tagsBefore?: SessionTags | null
}

export interface GuardedReaderOptions {
  reader: AllEventsReader
  guard: StreamGuard
  clock: Clock
  bufferBytes: number
  encodeGone: (sessionId: string) => Buffer
}

/**
 * A reader of the stream over all sessions that may read only some of them. What happens is handled one after the other, because a
 * decision can take time and events must stay in order.
 */
export class GuardedReader {
  readonly #options: GuardedReaderOptions
  readonly #decisions = new Map<string, { may: boolean; at: number }>()
  #last: Promise<void> = Promise.resolve()
  #waitingBytes = 0
  #isRemoved = false

  constructor(options: GuardedReaderOptions) {
    this.#options = options
  }

  receive(news: SessionNews): void {
    this.#enqueue(news.data?.length ?? 0, () => this.#deliver(news))
  }

  /** The session was deleted. */
  receiveGone(sessionId: string): void {
    this.#enqueue(0, async () => {
      const may = await this.#mayRead(sessionId)
      this.#decisions.delete(sessionId)
      if (may) this.#write(this.#options.encodeGone(sessionId))
    })
  }

  remove(): void {
    this.#isRemoved = true
  }

  async #deliver({ sessionId, data, tagsBefore }: SessionNews): Promise<void> {
    if (tagsBefore === undefined) {
      if (data && (await this.#mayRead(sessionId))) this.#write(data)
      return
    }
    // Not what was decided for an earlier event: a client that could never read the session must not learn its id.
    const before = tagsBefore && (await this.#options.guard.mightRead(sessionId, tagsBefore))
    this.#decisions.delete(sessionId)
    const may = await this.#mayRead(sessionId)
    // The lists of the client lack a session that it could not read so far, or may have one that it can no longer read.
    if (before === null || (may && !before)) this.#finish()
    else if (may && data) this.#write(data)
    else if (!may && before) this.#write(this.#options.encodeGone(sessionId))
  }

  async #mayRead(sessionId: string): Promise<boolean> {
    const { guard, clock } = this.#options
    const now = clock.now()
    const known = this.#decisions.get(sessionId)
    if (known && now - known.at < DECISION_MS) return known.may
    const may = await guard.mayRead(sessionId)
    this.#decisions.set(sessionId, { may, at: now })
    return may
  }

  #enqueue(bytes: number, act: () => Promise<void>): void {
    this.#waitingBytes += bytes
    if (this.#waitingBytes > MAX_WAITING_BYTES) {
      this.#options.reader.socket.destroy()
      return
    }
    this.#last = this.#last.then(async () => {
      this.#waitingBytes -= bytes
      if (!this.#isRemoved) await act()
    })
  }

  #finish(): void {
    if (!this.#isRemoved) this.#options.reader.finish()
  }

  #write(data: Buffer): void {
    const { reader, bufferBytes } = this.#options
    if (!this.#isRemoved) writeOrDisconnect(reader.socket, data, bufferBytes)
  }
}
