import { interactionFrom, type Change, type Page } from '@askback/core'
import type { EventOf, EventType, Interaction, SessionEvent } from '@askback/protocol'
import type { Connection } from './connection.js'
import type { Head } from './log-writer.js'
import { DamagedError, stored } from './stored.js'

export interface LogReader {
  read(head: Head, query: { after?: number; before?: number; limit: number }): SessionEvent[]
  changes(after: number, limit: number): Change[]
  newest(): number
  interaction(interactionId: string): Interaction | null
  interactionsOf(session: number, toolCallId: string): Interaction[]
  pending(query: { session?: number; after: number; limit: number }): Page<Interaction>
}

type InteractionRow = [
  request: number,
  progress: number | null,
  response: number | null,
  delivered: number,
  pending: number,
]

const BODY = 'CAST(body AS BLOB)'
const INTERACTION = 'SELECT request, progress, response, delivered, pending FROM interactions'
/** An erased session is gone at once, though its rows go bit by bit. */
const NOT_ERASED = 'session NOT IN (SELECT session FROM erased)'

export function logReader(db: Connection): LogReader {
  // Rows are keyed by their last seq: the row that holds `to` is the first whose last seq is not below it.
  const findRange = db.all<[Buffer]>(
    `SELECT ${BODY} FROM log WHERE session = ?1 AND last_seq > ?2 AND last_seq <=
       (SELECT min(last_seq) FROM log WHERE session = ?1 AND last_seq >= ?3) ORDER BY last_seq`,
  )
  const findChanges = db.all<[number, Buffer]>(
    `SELECT pos, ${BODY} FROM log WHERE pos > ? AND ${NOT_ERASED} ORDER BY pos LIMIT ?`,
  )
  const findNewest = db.get<[number]>('SELECT coalesce(max(pos), 0) FROM log')
  const findRow = db.get<[number, Buffer]>(
    `SELECT pos, ${BODY} FROM log WHERE pos <= ? ORDER BY pos DESC LIMIT 1`,
  )
  const findOne = db.get<InteractionRow>(`${INTERACTION} WHERE id = ? AND ${NOT_ERASED}`)
  const findOfTool = db.all<InteractionRow>(
    `${INTERACTION} WHERE session = ? AND tool_call_id = ? ORDER BY request`,
  )
  const findPending = db.all<InteractionRow>(
    `${INTERACTION} WHERE pending = 1 AND request > ? AND ${NOT_ERASED} ORDER BY request LIMIT ?`,
  )
  const findPendingOf = db.all<InteractionRow>(
    `${INTERACTION} INDEXED BY interactions_pending_in
     WHERE session = ? AND pending = 1 AND request > ? ORDER BY request LIMIT ?`,
  )

  function rebuild(row: InteractionRow, events: EventsByPlace): Interaction {
    const [request, progress, response, delivered, pending] = row
    return interactionFrom({
      request: events.at('interaction_request', request),
      ...(progress !== null && { progress: events.at('interaction_progress', progress) }),
      ...(response !== null && { response: events.at('interaction_response', response) }),
      delivered: delivered === 1,
      pending: pending === 1,
    })
  }

  function rebuildAll(rows: InteractionRow[]): Interaction[] {
    const events = new EventsByPlace(findRow)
    return rows.map((row) => rebuild(row, events))
  }

  return {
    read(head, { after = 0, before, limit }) {
      const to = Math.min(before === undefined ? after + limit : before - 1, head.seq)
      const from = before === undefined ? after : Math.max(after, to - limit)
      if (from >= to) return []
      return findRange(head.key, from, to)
        .flatMap(([body]) => stored<SessionEvent[]>(body))
        .filter(({ seq }) => seq > from && seq <= to)
    },
    changes: (after, limit) =>
      findChanges(after, limit).map(([pos, body]) => {
        const events = stored<SessionEvent[]>(body)
        return { cursor: String(pos), sessionId: events[0]!.sessionId, events }
      }),
    newest: () => findNewest()![0],
    interaction(interactionId) {
      const row = findOne(interactionId)
      return row ? rebuild(row, new EventsByPlace(findRow)) : null
    },
    interactionsOf: (session, toolCallId) => rebuildAll(findOfTool(session, toolCallId)),
    pending({ session, after, limit }) {
      const rows =
        session === undefined ? findPending(after, limit + 1) : findPendingOf(session, after, limit + 1)
      const page = rows.slice(0, limit)
      return { items: rebuildAll(page), next: rows.length > limit ? String(page.at(-1)![0]) : null }
    },
  }
}

/** Finds events by their place; neighbours in one row are parsed once. */
class EventsByPlace {
  readonly #find: (place: number) => [number, Buffer] | undefined
  #pos = 0
  #events: SessionEvent[] = []

  constructor(find: (place: number) => [number, Buffer] | undefined) {
    this.#find = find
  }

  at<Type extends EventType>(type: Type, place: number): EventOf<Type> {
    if (place < this.#pos || place >= this.#pos + this.#events.length) {
      const row = this.#find(place)
      this.#pos = row?.[0] ?? 0
      this.#events = row ? stored<SessionEvent[]>(row[1]) : []
    }
    const event = this.#events[place - this.#pos]
    if (event && isOf(event, type)) return event
    throw new DamagedError(`the log has no ${type} at place ${place}`)
  }
}

function isOf<Type extends EventType>(event: SessionEvent, type: Type): event is EventOf<Type> {
  return event.type === type
}
