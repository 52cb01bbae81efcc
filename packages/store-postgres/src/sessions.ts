import { placeOfCursor, type Page, type SessionRow, type Snapshot } from '@askback/core'
import type { Json, PermissionMode, Session, SessionStatus } from '@askback/protocol'
import type { Database } from './database.js'
import { keyText } from './key-text.js'
import { stored } from './stored.js'

type Row = [key: number, info: string, status: string, permissionMode: string, updatedAt: number]

export function sessionTable(db: Database, schema: string) {
  const select = `SELECT key, info, status, permission_mode, updated_at FROM ${schema}.sessions`

  return {
    async session(sessionId: string): Promise<SessionRow | null> {
      const [row] = await db.read<Row>(`${select} WHERE id = $1`, [keyText(sessionId)])
      return row ? sessionRow(row) : null
    },
    async sessions(query: {
      after?: string
      limit: number
      updatedBefore?: number
    }): Promise<Page<SessionRow>> {
      const { after, limit, updatedBefore = Infinity } = query
      const before = after === undefined ? Number.MAX_SAFE_INTEGER : placeOfCursor(after)
      const most = limit === Infinity ? '' : ` LIMIT ${Math.trunc(limit) + 1}`
      const rows = await db.read<Row>(
        `${select} WHERE key < $1 AND updated_at < $2 ORDER BY key DESC${most}`,
        [before, updatedBefore],
      )
      const items = rows.slice(0, limit)
      return { items: items.map(sessionRow), next: rows.length > limit ? String(items.at(-1)![0]) : null }
    },
    async loadSnapshot(sessionId: string): Promise<Snapshot | null> {
      const [row] = await db.read<[number, number, string]>(
        `SELECT n.seq, n.version, n.state FROM ${schema}.snapshots n JOIN ${schema}.sessions s ON s.key = n.session
         WHERE s.id = $1`,
        [keyText(sessionId)],
      )
      return row ? { seq: row[0], version: row[1], state: stored<Json>(row[2]) } : null
    },
    /** Only of a log that is still the session's, and holds what it is of. */
    async saveSnapshot(sessionId: string, { seq, version, state }: Snapshot, logId?: string): Promise<void> {
      await db.write(
        `INSERT INTO ${schema}.snapshots (session, seq, version, state)
         SELECT key, $2::bigint, $3::bigint, $4::text FROM ${schema}.sessions
         WHERE id = $1 AND seq >= $2::bigint AND ($5::text IS NULL OR log_id = $5::text)
         ON CONFLICT (session) DO UPDATE SET seq = excluded.seq, version = excluded.version, state = excluded.state
         WHERE excluded.seq >= snapshots.seq`,
        [
          keyText(sessionId),
          seq,
          version,
          JSON.stringify(state),
          logId === undefined ? null : keyText(logId),
        ],
      )
    },
  }
}

function sessionRow([, info, status, permissionMode, updatedAt]: Row): SessionRow {
  return {
    ...stored<Omit<Session, 'status' | 'permissionMode'>>(info),
    status: status as SessionStatus,
    permissionMode: permissionMode as PermissionMode,
    updatedAt,
  }
}
