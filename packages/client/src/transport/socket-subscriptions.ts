import { AsyncQueue, type AskbackError, type SessionEvent } from '@askback/protocol'
import { endsSession, parseItem, sessionNotFound, StreamPosition, type WireItem } from './stream-items.js'
import type { Cursor } from './transport.js'

interface SocketReader {
  position: StreamPosition
  queue: AsyncQueue<WireItem>
}

/** In place of a session id: the interaction and status events of all sessions. */
export const ALL_SESSIONS = '*'

/** The readers of each session on the one socket. The gateway has one subscription per session; its readers share it. */
export class SocketSubscriptions {
  readonly #sessions = new Map<string, Set<SocketReader>>()

  /** @param onLastLeft - called when the session has no reader any more */
  add(sessionId: string, after: Cursor, onLastLeft: () => void): AsyncQueue<WireItem> {
    const readers = this.#sessions.get(sessionId) ?? new Set<SocketReader>()
    this.#sessions.set(sessionId, readers)
    const queue = new AsyncQueue<WireItem>(() => {
      readers.delete(reader)
      if (readers.size > 0 || this.#sessions.get(sessionId) !== readers) return
      this.#sessions.delete(sessionId)
      onLastLeft()
    })
    const reader = { position: new StreamPosition(after), queue }
    readers.add(reader)
    return queue
  }

  get size(): number {
    return this.#sessions.size
  }

  get sessionIds(): string[] {
    return [...this.#sessions.keys()]
  }

  /** The position that the gateway has to send from, so that every reader of the session gets what it lacks. */
  startOf(sessionId: string): { after: number; log?: string } | null {
    const positions = this.#readersOf(sessionId).map(({ position }) => position)
    if (positions.length === 0) return null
    const log = positions[0]!.logId
    return { after: Math.min(...positions.map(({ seq }) => seq)), ...(log !== undefined && { log }) }
  }

  /** Passes an event of the gateway on. Throws if it cannot be read. */
  receive(sessionId: string, value: unknown): void {
    const item = parseItem(value)
    if (item?.type === 'live') this.publish(item, sessionId)
    if (item?.type === 'event') this.#receiveEvent(sessionId, item.event)
  }

  /** Tells the readers of all sessions that a session was deleted. */
  gone(sessionId: string): void {
    this.publish({ type: 'gone', sessionId }, ALL_SESSIONS)
  }

  publish(item: WireItem, sessionId: string): void {
    for (const { queue } of this.#readersOf(sessionId)) queue.push(item)
  }

  publishAll(item: WireItem): void {
    for (const sessionId of this.sessionIds) this.publish(item, sessionId)
  }

  resync(sessionId: string): void {
    this.publish({ type: 'resync' }, sessionId)
    for (const { queue } of this.#readersOf(sessionId)) queue.end()
  }

  fail(sessionId: string, error: AskbackError): void {
    for (const { queue } of this.#readersOf(sessionId)) queue.fail(error)
  }

  failAll(error: AskbackError): void {
    for (const sessionId of this.sessionIds) this.fail(sessionId, error)
  }

  endAll(): void {
    for (const sessionId of this.sessionIds) for (const { queue } of this.#readersOf(sessionId)) queue.end()
  }

  #receiveEvent(sessionId: string, event: SessionEvent): void {
    if (sessionId === ALL_SESSIONS) return this.publish({ type: 'event', event }, sessionId)
    for (const { position, queue } of this.#readersOf(sessionId)) {
      if (position.advance(event)) queue.push({ type: 'event', event })
    }
    if (endsSession(event)) this.fail(sessionId, sessionNotFound(sessionId))
  }

  #readersOf(sessionId: string): SocketReader[] {
    return [...(this.#sessions.get(sessionId) ?? [])]
  }
}
