import type { Advance } from '@askback/core'
import type { SessionEvent } from '@askback/protocol'
import type { LoggedSession, LogModel } from './log-model.js'
import { holds } from './violation.js'

/** A position in one log. */
export interface LogPosition {
  logId: string
  seq: number
}

/** Returns the log of an event that is being delivered, which must be committed by then. */
export function checkDurable(model: LogModel, { sessionId, seq, id }: SessionEvent): LoggedSession {
  const log = model.logWith(id)
  const isThere = log?.id === sessionId && log.events[seq - 1]?.id === id
  holds(
    isThere,
    'durable first',
    () => `the event ${id} was delivered as ${seq} of ${sessionId}, but is not in the log`,
  )
  return log
}

/** The head and the events are committed events of one log, without gaps, and the last event is the head. */
export function checkAdvance(model: LogModel, { sessionId, head, events, texts }: Advance): LoggedSession {
  const log = model.logs.get(head.logId)
  const isThere = log?.id === sessionId && log.events[head.seq - 1]?.id === head.id
  const where = () => `${head.id} was delivered as ${sessionId}@${head.seq} of the log ${head.logId}`
  holds(isThere, 'durable first', where)
  for (const [index, event] of events.entries()) {
    const isNext = checkDurable(model, event) === log && event.seq === head.seq - events.length + 1 + index
    holds(
      isNext,
      'in order',
      () => `${event.seq} of ${sessionId} was delivered out of order, up to ${head.seq}`,
    )
  }
  log.deliveredSeq = Math.max(log.deliveredSeq, head.seq)
  const same = texts().length === events.length
  holds(same, 'in order', () => `the encoded texts of ${sessionId}@${head.seq} do not match its events`)
  return log
}

/** The position of one receiver in one session: it gets each event once, in order, and `gone` before events of another log. */
export class DeliveryCursor {
  readonly name: string
  readonly #model: LogModel
  #position: LogPosition | null

  constructor(name: string, model: LogModel, position: LogPosition | null) {
    this.name = name
    this.#model = model
    this.#position = position
  }

  get position(): LogPosition | null {
    return this.#position
  }

  take(events: readonly SessionEvent[]): void {
    for (const event of events) {
      const { logId } = checkDurable(this.#model, event)
      const { seq } = event
      const at = this.#position
      const isNext = at ? at.logId === logId && at.seq + 1 === seq : seq === 1
      const where = () => `${this.name} is at ${at?.logId}@${at?.seq} and gets ${seq} of ${logId}`
      holds(isNext, 'in order', where)
      this.#position = { logId, seq }
    }
  }

  /** The receiver gets `gone`, which is right only if its log was erased. */
  gone(sessionId: string): void {
    const at = this.#position
    const isGone = at === null || this.#model.sessions.get(sessionId)?.logId !== at.logId
    holds(isGone, 'gone', () => `${this.name} gets the erasure of ${at?.logId}, which still exists`)
    this.#position = null
  }

  /** The receiver is at the end of the log. `mayLag`: an erasure sends no doorbell, so the receiver may not know of it yet. */
  checkAtRest(sessionId: string, mayLag: boolean): void {
    const at = this.#position
    const current = this.#model.sessions.get(sessionId)
    const log = at ? this.#model.logs.get(at.logId) : current
    const isDue = log === current || mayLag
    holds(isDue, 'at rest', () => `${this.name} did not get the erasure of ${at?.logId}`)
    const end = log?.events.length ?? 0
    const behind = () => `${this.name} is at ${at?.seq} of ${sessionId}, whose log is at ${end}`
    holds((at?.seq ?? 0) === end, 'at rest', behind)
  }
}
