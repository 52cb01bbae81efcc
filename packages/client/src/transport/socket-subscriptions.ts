import type { AskbackError, SessionEvent } from '@askback/protocol'
import { AsyncQueue } from './async-queue.js'
import type { Cursor, StreamItem } from './transport.js'
import { endsSession, gone, parseItem, Place } from './wire-items.js'

interface Reader {
  place: Place
  queue: AsyncQueue<StreamItem>
}

/** In place of a session: what lists need to know of all of them. */
export const ALL_SESSIONS = '*'

/** Who reads which session over the one socket. The gateway knows one subscription a session, readers share it. */
export class SocketSubscriptions {
  readonly #sessions = new Map<string, Set<Reader>>()

  /** `left` is called when the last reader of the session is gone. */
  add(sessionId: string, after: Cursor, left: () => void): AsyncQueue<StreamItem> {
    const readers = this.#sessions.get(sessionId) ?? new Set<Reader>()
    this.#sessions.set(sessionId, readers)
    const queue = new AsyncQueue<StreamItem>(() => {
      readers.delete(reader)
      if (readers.size > 0 || this.#sessions.get(sessionId) !== readers) return
      this.#sessions.delete(sessionId)
      left()
    })
    const reader = { place: new Place(after), queue }
    readers.add(reader)
    return queue
  }

  get size(): number {
    return this.#sessions.size
  }

  get sessionIds(): string[] {
    return [...this.#sessions.keys()]
  }

  /** From where on the gateway has to send, so that every reader of the session gets what it lacks. */
  placeOf(sessionId: string): { after: number; log?: string } | null {
    const places = this.#of(sessionId).map(({ place }) => place)
    if (places.length === 0) return null
    const log = places[0]!.logId
    return { after: Math.min(...places.map(({ seq }) => seq)), ...(log !== undefined && { log }) }
  }

  take(sessionId: string, value: unknown): void {
    const item = parseItem(value)
    if (item?.type === 'live') this.tell(item, sessionId)
    if (item?.type === 'event') this.#takeEvent(sessionId, item.event)
  }

  tell(item: StreamItem, sessionId: string): void {
    for (const { queue } of this.#of(sessionId)) queue.push(item)
  }

  tellAll(item: StreamItem): void {
    for (const sessionId of this.sessionIds) this.tell(item, sessionId)
  }

  resync(sessionId: string): void {
    this.tell({ type: 'resync' }, sessionId)
    for (const { queue } of this.#of(sessionId)) queue.end()
  }

  fail(sessionId: string, error: AskbackError): void {
    for (const { queue } of this.#of(sessionId)) queue.fail(error)
  }

  failAll(error: AskbackError): void {
    for (const sessionId of this.sessionIds) this.fail(sessionId, error)
  }

  endAll(): void {
    for (const sessionId of this.sessionIds) for (const { queue } of this.#of(sessionId)) queue.end()
  }

  #takeEvent(sessionId: string, event: SessionEvent): void {
    if (sessionId === ALL_SESSIONS) return this.tell({ type: 'event', event }, sessionId)
    for (const { place, queue } of this.#of(sessionId)) {
      if (place.take(event)) queue.push({ type: 'event', event })
    }
    if (endsSession(event)) this.fail(sessionId, gone(sessionId))
  }

  #of(sessionId: string): Reader[] {
    return [...(this.#sessions.get(sessionId) ?? [])]
  }
}
