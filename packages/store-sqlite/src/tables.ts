import { placeOfCursor, type Page, type SessionRow, type Snapshot } from '@askback/core'
import type { Json, PermissionMode, Session, SessionStatus, AuditRow } from '@askback/protocol'
import type { Connection } from './connection.js'
import { stored } from './stored.js'

export interface Tables {
  session(sessionId: string): SessionRow | null
  sessions(query: { after?: string; limit: number; updatedBefore?: number }): Page<SessionRow>
  countSessions(): number
  countPending(): number
  pendingCounts(): Map<string, number>
  deadlines(): { sessionId: string; interactionId: string; expiresAt: number }[]
  toolCall(session: number, toolCallId: string): { ended: boolean } | null
  audit(after: number, limit: number): Page<AuditRow>
  loadSnapshot(session: number): Snapshot | null
  /** Inside a transaction. */
  saveSnapshot(session: number, snapshot: Snapshot): void
}

type Row = [key: number, info: Buffer, status: Buffer, permissionMode: Buffer, updatedAt: number]

const SESSION = `SELECT key, CAST(info AS BLOB), CAST(status AS BLOB), CAST(permission_mode AS BLOB), updated_at
  FROM sessions`

export function tables(db: Connection): Tables {
  const findSession = db.get<Row>(`${SESSION} WHERE id = ?`)
  const findSessions = db.all<Row>(`${SESSION} WHERE key < ? AND updated_at < ? ORDER BY key DESC LIMIT ?`)
  const countSessions = db.get<[number]>('SELECT count(*) FROM sessions')
  // Counting an index takes a tenth of the time of looking at each row for its session.
  const countPending = db.get<[number]>(
    `SELECT (SELECT count(*) FROM interactions WHERE pending = 1) -
       (SELECT count(*) FROM erased CROSS JOIN interactions INDEXED BY interactions_pending_in
        ON interactions.session = erased.session WHERE pending = 1)`,
  )
  const countBySession = db.all<[Buffer, number]>(
    `SELECT CAST(sessions.id AS BLOB), counted FROM (
       SELECT session, count(*) AS counted FROM interactions INDEXED BY interactions_pending_in
       WHERE pending = 1 GROUP BY session
     ) JOIN sessions ON key = session`,
  )
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
      const before = after === undefined ? Infinity : placeOfCursor(after)
      const rows = findSessions(before, updatedBefore, limit + 1)
      return page(rows, limit, sessionRow)
    },
    countSessions: () => countSessions()![0],
    countPending: () => countPending()![0],
    pendingCounts: () => new Map(countBySession().map(([id, counted]) => [id.toString(), counted])),
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
      page(findAudit(after, limit + 1), limit, ([, body, message]): AuditRow => ({
        ...stored<AuditRow>(body),
        ...(message !== null && { message: stored<string>(message) }),
      })),
    loadSnapshot(session) {
      const row = findSnapshot(session)
      return row ? { seq: row[0], version: row[1], state: stored<Json>(row[2]) } : null
    },
    saveSnapshot: (session, { seq, version, state }) =>
      void upsertSnapshot(session, seq, version, JSON.stringify(state)),
  }
}

function sessionRow([, info, status, permissionMode, updatedAt]: Row): SessionRow {
  return {
    ...stored<Omit<Session, 'status' | 'permissionMode'>>(info),
    status: status.toString() as SessionStatus,
    permissionMode: permissionMode.toString() as PermissionMode,
    updatedAt,
  }
}

/** `rows` holds one more than the page if there is another page. */
function page<T extends [number, ...unknown[]], Item>(
  rows: T[],
  limit: number,
  view: (row: T) => Item,
): Page<Item> {
  const items = rows.slice(0, limit)
  return { items: items.map(view), next: rows.length > limit ? String(items.at(-1)![0]) : null }
}
