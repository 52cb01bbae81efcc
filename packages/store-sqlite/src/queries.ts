import type { Change, Page, SessionRow, Snapshot } from '@askback/core'
import { hasType, buildInteraction, joinMessage, pageOf, parseCursor, rowTags } from '@askback/core/store'
import type {
  AuditRow,
  EventOf,
  EventType,
  Interaction,
  Json,
  PermissionMode,
  Session,
  SessionEvent,
  SessionStatus,
} from '@askback/protocol'
import { DamagedError, parseStored, type Connection } from './connection.js'
import type { SessionHead } from './log-writer.js'

/** Reads events, and the interactions that are rebuilt from them. */
export interface LogQueries {
  read(head: SessionHead, query: { after?: number; before?: number; limit: number }): SessionEvent[]
  changes(after: number, limit: number): Change[]
  newest(): number
  interaction(interactionId: string): Interaction | null
  interactionsOf(session: number, toolCallId: string): Interaction[]
  pending(query: { session?: number; after: number; limit: number }): Page<Interaction>
}

/** The positions of its events. */
type InteractionIndex = [
  request: number,
  progress: number | null,
  response: number | null,
  delivered: number,
  pending: number,
]

const BODY = 'CAST(body AS BLOB)'
const INTERACTION = 'SELECT request, progress, response, delivered, pending FROM interactions'
/** A hidden session must not be found, although its rows are still being erased. */
const NOT_ERASED = 'session NOT IN (SELECT session FROM erased)'

export function logQueries(db: Connection): LogQueries {
  // Rows are indexed by their last seq: the row that contains `to` is the first whose last seq is not below it.
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
  const findOne = db.get<InteractionIndex>(`${INTERACTION} WHERE id = ? AND ${NOT_ERASED}`)
  const findOfTool = db.all<InteractionIndex>(
    `${INTERACTION} WHERE session = ? AND tool_call_id = ? ORDER BY request`,
  )
  const findPending = db.all<InteractionIndex>(
    `${INTERACTION} WHERE pending = 1 AND request > ? AND ${NOT_ERASED} ORDER BY request LIMIT ?`,
  )
  const findPendingOf = db.all<InteractionIndex>(
    `${INTERACTION} INDEXED BY interactions_pending_in
     WHERE session = ? AND pending = 1 AND request > ? ORDER BY request LIMIT ?`,
  )

  function rebuild(row: InteractionIndex, events: EventsByPosition): Interaction {
    const [request, progress, response, delivered, pending] = row
    return buildInteraction({
      request: events.at('interaction_request', request),
      ...(progress !== null && { progress: events.at('interaction_progress', progress) }),
      ...(response !== null && { response: events.at('interaction_response', response) }),
      delivered: delivered === 1,
      pending: pending === 1,
    })
  }

  function rebuildAll(rows: InteractionIndex[]): Interaction[] {
    const events = new EventsByPosition(findRow)
    return rows.map((row) => rebuild(row, events))
  }

  return {
    read(head, { after = 0, before, limit }) {
      const to = Math.min(before === undefined ? after + limit : before - 1, head.seq)
      const from = before === undefined ? after : Math.max(after, to - limit)
      if (from >= to) return []
      return findRange(head.key, from, to)
        .flatMap(([body]) => parseStored<SessionEvent[]>(body))
        .filter(({ seq }) => seq > from && seq <= to)
    },
    changes: (after, limit) =>
      findChanges(after, limit).map(([pos, body]) => {
        const events = parseStored<SessionEvent[]>(body)
        return { cursor: String(pos), sessionId: events[0]!.sessionId, events }
      }),
    newest: () => findNewest()![0],
    interaction(interactionId) {
      const row = findOne(interactionId)
      return row ? rebuild(row, new EventsByPosition(findRow)) : null
    },
    interactionsOf: (session, toolCallId) => rebuildAll(findOfTool(session, toolCallId)),
    pending({ session, after, limit }) {
      const rows =
        session === undefined ? findPending(after, limit + 1) : findPendingOf(session, after, limit + 1)
      const events = new EventsByPosition(findRow)
      return pageOf(
        rows,
        limit,
        ([request]) => request,
        (row) => rebuild(row, events),
      )
    },
  }
}

/** Finds events by their position. Events of the same append are parsed once if they are read one after the other. */
class EventsByPosition {
  readonly #find: (position: number) => [number, Buffer] | undefined
  #first = 0
  #events: SessionEvent[] = []

  constructor(find: (position: number) => [number, Buffer] | undefined) {
    this.#find = find
  }

  at<Type extends EventType>(type: Type, position: number): EventOf<Type> {
    if (position < this.#first || position >= this.#first + this.#events.length) {
      const row = this.#find(position)
      this.#first = row?.[0] ?? 0
      this.#events = row ? parseStored<SessionEvent[]>(row[1]) : []
    }
    const event = this.#events[position - this.#first]
    if (event && hasType(event, type)) return event
    throw new DamagedError(`the log has no ${type} at position ${position}`)
  }
}

/** Reads the other tables. */
export interface TableQueries {
  session(sessionId: string): SessionRow | null
  sessions(query: { after?: string; limit: number; updatedBefore?: number }): Page<SessionRow>
  countSessions(): number
  countPending(): number
  /** Returns the same map until something is written. */
  pendingCounts(): ReadonlyMap<string, number>
  deadlines(): { sessionId: string; interactionId: string; expiresAt: number }[]
  toolCall(session: number, toolCallId: string): { ended: boolean } | null
  audit(after: number, limit: number): Page<AuditRow>
  loadSnapshot(session: number): Snapshot | null
  /** Inside a transaction. */
  saveSnapshot(session: number, snapshot: Snapshot): void
}

type SessionTuple = [
  key: number,
  info: Buffer,
  status: Buffer,
  permissionMode: Buffer,
  updatedAt: number,
  tags: Buffer | null,
]

/** The key of the tags is that of `tagsKey` in core. */
const SESSION = `SELECT key, CAST(info AS BLOB), CAST(status AS BLOB), CAST(permission_mode AS BLOB), updated_at,
  (SELECT CAST(kv.value AS BLOB) FROM kv WHERE kv.key = 'session/' || sessions.id || '/tags')
  FROM sessions`

export function tableQueries(db: Connection): TableQueries {
  const findSession = db.get<SessionTuple>(`${SESSION} WHERE id = ?`)
  const findSessions = db.all<SessionTuple>(
    `${SESSION} WHERE key < ? AND updated_at < ? ORDER BY key DESC LIMIT ?`,
  )
  const countSessions = db.get<[number]>('SELECT count(*) FROM sessions')
  // Counting the index and subtracting erased ones takes a tenth of the time of joining each row with its session.
  const countPending = db.get<[number]>(
    `SELECT (SELECT count(*) FROM interactions WHERE pending = 1) -
       (SELECT count(*) FROM erased CROSS JOIN interactions INDEXED BY interactions_pending_in
        ON interactions.session = erased.session WHERE pending = 1)`,
  )
  // One value instead of a row per session: taking ten thousand rows from the engine costs three times as much as counting.
  // SQLite cuts a key of a JSON object at a NUL character, so an id that contains one is written in hexadecimal.
  const countBySession = db.get<[Buffer]>(
    `SELECT CAST(json_group_object(
       iif(instr(CAST(sessions.id AS BLOB), x'00') = 0, '=' || sessions.id, hex(sessions.id)), counted
     ) AS BLOB) FROM (
       SELECT session, count(*) AS counted FROM interactions INDEXED BY interactions_pending_in
       WHERE pending = 1 GROUP BY session
     ) JOIN sessions ON key = session`,
  )
  let counted: { changes: number; bySession: ReadonlyMap<string, number> } | null = null
  const findDeadlines = db.all<[Buffer, Buffer, number]>(
    `SELECT CAST(sessions.id AS BLOB), CAST(interactions.id AS BLOB), expires_at
     FROM interactions JOIN sessions ON key = session WHERE pending = 1 AND expires_at IS NOT NULL`,
  )
  const findToolCall = db.get<[number]>('SELECT ended FROM tool_calls WHERE session = ? AND id = ?')
  const findAudit = db.all<[number, Buffer, Buffer | null]>(
    'SELECT place, CAST(body AS BLOB), CAST(message AS BLOB) FROM audit WHERE place > ? ORDER BY place LIMIT ?',
  )
  const findSnapshot = db.get<[number, number, Buffer]>(
    'SELECT seq, version, CAST(state AS BLOB) FROM snapshots WHERE session = ?',
  )
  const upsertSnapshot = db.run(
    `INSERT INTO snapshots (session, seq, version, state) VALUES (?, ?, ?, ?)
     ON CONFLICT (session) DO UPDATE SET seq = excluded.seq, version = excluded.version, state = excluded.state
     WHERE excluded.seq >= snapshots.seq`,
  )

  return {
    session(sessionId) {
      const row = findSession(sessionId)
      return row ? sessionRow(row) : null
    },
    sessions({ after, limit, updatedBefore = Infinity }) {
      const before = after === undefined ? Infinity : parseCursor(after)
      const rows = findSessions(before, updatedBefore, limit + 1)
      return pageOf(rows, limit, ([key]) => key, sessionRow)
    },
    countSessions: () => countSessions()![0],
    countPending: () => countPending()![0],
    pendingCounts() {
      const changes = db.changes()
      if (counted?.changes !== changes) {
        const byName = Object.entries(parseStored<Record<string, number>>(countBySession()![0]))
        counted = { changes, bySession: new Map(byName.map(([name, count]) => [idFromName(name), count])) }
      }
      return counted.bySession
    },
    deadlines: () =>
      findDeadlines().map(([sessionId, interactionId, expiresAt]) => ({
        sessionId: sessionId.toString(),
        interactionId: interactionId.toString(),
        expiresAt,
      })),
    toolCall(session, toolCallId) {
      const row = findToolCall(session, toolCallId)
      return row ? { ended: row[0] === 1 } : null
    },
    audit: (after, limit) =>
      pageOf(
        findAudit(after, limit + 1),
        limit,
        ([position]) => position,
        ([, body, message]) =>
          joinMessage(parseStored<AuditRow>(body), message === null ? null : parseStored<string>(message)),
      ),
    loadSnapshot(session) {
      const row = findSnapshot(session)
      return row ? { seq: row[0], version: row[1], state: parseStored<Json>(row[2]) } : null
    },
    saveSnapshot: (session, { seq, version, state }) =>
      void upsertSnapshot(session, seq, version, JSON.stringify(state)),
  }
}

function sessionRow([, info, status, permissionMode, updatedAt, tags]: SessionTuple): SessionRow {
  return {
    ...parseStored<Omit<Session, 'status' | 'permissionMode' | 'tags'>>(info),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only this store writes this column
    status: status.toString() as SessionStatus,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only this store writes this column
    permissionMode: permissionMode.toString() as PermissionMode,
    updatedAt,
    ...rowTags(tags && parseStored<Json>(tags)),
  }
}

function idFromName(name: string): string {
  return name.startsWith('=') ? name.slice(1) : Buffer.from(name, 'hex').toString()
}
