import type { Advance } from '@askback/core'
import type { SessionEvent } from '@askback/protocol'
import type { LoggedSession, LogModel } from './log-model.js'
import { holds } from './violation.js'

/** A place in one log. */
export interface LogPlace {
  logId: string
  seq: number
}

/** The log that an event stands in, at the moment it is told. */
export function checkDurable(model: LogModel, { sessionId, seq, id }: SessionEvent): LoggedSession {
  const log = model.logWith(id)
  const isThere = log?.id === sessionId && log.events[seq - 1]?.id === id
  holds(isThere, 'durable first', () => `the event ${id} was told as ${seq} of ${sessionId}`)
  return log
}

/** Head and events name durable events of one log, without gaps, and the events end at the head. */
export function checkAdvance(model: LogModel, { sessionId, head, events, texts }: Advance): LoggedSession {
  const log = model.logs.get(head.logId)
  const isThere = log?.id === sessionId && log.events[head.seq - 1]?.id === head.id
  const where = () => `${head.id} was told as ${sessionId}@${head.seq} of the log ${head.logId}`
  holds(isThere, 'durable first', where)
  for (const [index, event] of events.entries()) {
    const isNext = checkDurable(model, event) === log && event.seq === head.seq - events.length + 1 + index
    holds(isNext, 'in order', () => `${event.seq} of ${sessionId} was told out of turn, up to ${head.seq}`)
  }
  log.told = Math.max(log.told, head.seq)
  const same = texts().length === events.length
  holds(same, 'in order', () => `the texts told of ${sessionId}@${head.seq} are not its events`)
  return log
}

/** What someone has been told of one session: each event once, in order; `gone` before another log. */
export class ToldCursor {
  readonly name: string
  readonly #model: LogModel
  #place: LogPlace | null

  constructor(name: string, model: LogModel, place: LogPlace | null) {
    this.name = name
    this.#model = model
    this.#place = place
  }

  get place(): LogPlace | null {
    return this.#place
  }

  take(events: readonly SessionEvent[]): void {
    for (const event of events) {
      const { logId } = checkDurable(this.#model, event)
      const { seq } = event
      const at = this.#place
      const isNext = at ? at.logId === logId && at.seq + 1 === seq : seq === 1
      const where = () => `${this.name} is at ${at?.logId}@${at?.seq} and is told ${seq} of ${logId}`
      holds(isNext, 'in order', where)
      this.#place = { logId, seq }
    }
  }

  /** Its log is gone, and only then. */
  gone(sessionId: string): void {
    const at = this.#place
    const isGone = at === null || this.#model.sessions.get(sessionId)?.logId !== at.logId
    holds(isGone, 'gone', () => `${this.name} is told that ${at?.logId} is gone, which is there`)
    this.#place = null
  }

  /** It stands at the end of the log; `mayLag` once that has ended, where an erasure rings no bell. */
  checkAtRest(sessionId: string, mayLag: boolean): void {
    const at = this.#place
    const current = this.#model.sessions.get(sessionId)
    const log = at ? this.#model.logs.get(at.logId) : current
    const isDue = log === current || mayLag
    holds(isDue, 'at rest', () => `${this.name} was not told that ${at?.logId} is gone`)
    const end = log?.events.length ?? 0
    const behind = () => `${this.name} is at ${at?.seq} of ${sessionId}, whose log is at ${end}`
    holds((at?.seq ?? 0) === end, 'at rest', behind)
  }
}
