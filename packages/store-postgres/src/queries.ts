import type { Change, ChangeNotice, Page, SessionRow, Snapshot } from '@askback/core'
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
import type { Database, SqlValue } from './database.js'
import { fromKeyText, keyText, parseStored } from './stored-text.js'

/** Everything that the store reads. Errors are those of the database, or of a row that contains something else than was written. */
export function storeQueries(db: Database, schema: string) {
  const count = async (sql: string): Promise<number> => (await db.read<[number]>(sql))[0]![0]

  return {
    ...logQueries(db, schema),
    ...sessionQueries(db, schema),
    ...interactionQueries(db, schema),
    countSessions: () => count(`SELECT count(*) FROM ${schema}.sessions`),
    countPending: () => count(`SELECT count(*) FROM ${schema}.interactions WHERE pending`),
    head: async () => String(await count(`SELECT ${schema}.head()`)),
  }
}

function logQueries(db: Database, schema: string) {
  return {
    async read(query: {
      sessionId: string
      after?: number
      before?: number
      limit: number
    }): Promise<SessionEvent[]> {
      const { sessionId, after = 0, before, limit } = query
      const sql = `SELECT * FROM ${schema}.read($1, $2, $3, $4)`
      const rows = await db.read<[string]>(sql, [
        keyText(sessionId),
        after,
        before ?? null,
        parameterOfLimit(limit),
      ])
      const events = rows
        .flatMap(([body]) => parseStored<SessionEvent[]>(body))
        .filter(({ seq }) => seq > after && (before === undefined || seq < before))
      return before === undefined
        ? events.slice(0, limit)
        : events.slice(-Math.min(limit, events.length || 1))
    },
    async changes({ after = '0', limit }: { after?: string; limit: number }): Promise<Change[]> {
      const sql = `SELECT * FROM ${schema}.changes($1, $2)`
      const rows = await db.read<[number, string, string | null]>(sql, [
        parseCursor(after),
        parameterOfLimit(limit),
      ])
      return rows.map(([position, sessionId, body]) => ({
        cursor: String(position),
        sessionId: fromKeyText(sessionId),
        events: body === null ? [] : parseStored<SessionEvent[]>(body),
      }))
    },
    async changedSessions({ after, limit }: { after: string; limit: number }): Promise<ChangeNotice[]> {
      const sql = `SELECT * FROM ${schema}.log_news($1, $2)`
      const rows = await db.read<[number, string, string | null, number | null]>(sql, [
        parseCursor(after),
        limit,
      ])
      return rows.map(([position, sessionId, logId, seq]) => ({
        cursor: String(position),
        sessionId: fromKeyText(sessionId),
        ...(logId !== null && seq !== null && { reaches: { logId: fromKeyText(logId), seq } }),
      }))
    },
    async audit({ after = '0', limit }: { after?: string; limit: number }): Promise<Page<AuditRow>> {
      const sql = `SELECT * FROM ${schema}.audit_after($1, $2)`
      const rows = await db.read<[number, string, string | null]>(sql, [
        parseCursor(after),
        parameterOfLimit(limit + 1),
      ])
      return pageOf(
        rows,
        limit,
        ([number]) => number,
        ([, body, message]) =>
          joinMessage(parseStored<AuditRow>(body), message === null ? null : parseStored<string>(message)),
      )
    },
    async toolCall(sessionId: string, toolCallId: string): Promise<{ ended: boolean } | null> {
      const [row] = await db.read<[boolean]>(
        `SELECT t.ended FROM ${schema}.tool_calls t JOIN ${schema}.sessions s ON s.key = t.session
         WHERE s.id = $1 AND t.id = $2`,
        [keyText(sessionId), keyText(toolCallId)],
      )
      return row ? { ended: row[0] } : null
    },
  }
}

type SessionColumns = [
  key: number,
  info: string,
  status: string,
  permissionMode: string,
  updatedAt: number,
  tags: string | null,
]

function sessionQueries(db: Database, schema: string) {
  // The key of the tags is that of `tagsKey` in core.
  const select = `SELECT key, info, status, permission_mode, updated_at,
    (SELECT value FROM ${schema}.kv WHERE kv.key = 'session/' || sessions.id || '/tags') FROM ${schema}.sessions`

  return {
    async session(sessionId: string): Promise<SessionRow | null> {
      const [row] = await db.read<SessionColumns>(`${select} WHERE id = $1`, [keyText(sessionId)])
      return row ? sessionRow(row) : null
    },
    async sessions(query: {
      after?: string
      limit: number
      updatedBefore?: number
    }): Promise<Page<SessionRow>> {
      const { after, limit, updatedBefore = Infinity } = query
      const before = after === undefined ? Number.MAX_SAFE_INTEGER : parseCursor(after)
      const rows = await db.read<SessionColumns>(
        `${select} WHERE key < $1 AND updated_at < $2 ORDER BY key DESC${limitClause(limit)}`,
        [before, updatedBefore],
      )
      return pageOf(rows, limit, ([key]) => key, sessionRow)
    },
    async loadSnapshot(sessionId: string): Promise<Snapshot | null> {
      const [row] = await db.read<[number, number, string]>(
        `SELECT n.seq, n.version, n.state FROM ${schema}.snapshots n JOIN ${schema}.sessions s ON s.key = n.session
         WHERE s.id = $1`,
        [keyText(sessionId)],
      )
      return row ? { seq: row[0], version: row[1], state: parseStored<Json>(row[2]) } : null
    },
  }
}

function sessionRow([, info, status, permissionMode, updatedAt, tags]: SessionColumns): SessionRow {
  return {
    ...parseStored<Omit<Session, 'status' | 'permissionMode' | 'tags'>>(info),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only this store writes this column
    status: status as SessionStatus,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only this store writes this column
    permissionMode: permissionMode as PermissionMode,
    updatedAt,
    ...rowTags(tags === null ? null : parseStored<Json>(tags)),
  }
}

/** For each of the three events: the append that contains it, and its index there. */
type InteractionColumns = [
  number: number,
  delivered: boolean,
  pending: boolean,
  request: string,
  requestAt: number,
  progress: string | null,
  progressAt: number | null,
  response: string | null,
  responseAt: number | null,
]

function interactionQueries(db: Database, schema: string) {
  const inSession = `${schema}.interactions i JOIN ${schema}.sessions s ON s.key = i.session`
  const select = `SELECT i.number, i.delivered, i.pending, a.body, i.request_at, b.body, i.progress_at, c.body, i.response_at
    FROM ${inSession} JOIN ${schema}.log a ON a.pos = i.request
    LEFT JOIN ${schema}.log b ON b.pos = i.progress LEFT JOIN ${schema}.log c ON c.pos = i.response`

  async function find(where: string, params: SqlValue[]): Promise<Interaction[]> {
    return (await db.read<InteractionColumns>(`${select} WHERE ${where}`, params)).map(interactionOf)
  }

  async function findPage(where: string, params: SqlValue[], limit: number): Promise<Page<Interaction>> {
    const sql = `${select} WHERE ${where} ORDER BY i.number${limitClause(limit)}`
    return pageOf(await db.read<InteractionColumns>(sql, params), limit, ([number]) => number, interactionOf)
  }

  return {
    interaction: async (interactionId: string) =>
      (await find('i.id = $1', [keyText(interactionId)]))[0] ?? null,
    interactionsOf: (sessionId: string, toolCallId: string) =>
      find('s.id = $1 AND i.tool_call_id = $2 ORDER BY i.number', [keyText(sessionId), keyText(toolCallId)]),
    pending(query: { sessionId?: string; after?: string; limit: number }) {
      const { sessionId, after = '0', limit } = query
      const position = parseCursor(after)
      return sessionId === undefined
        ? findPage('i.pending AND i.number > $1', [position], limit)
        : findPage('i.pending AND i.number > $1 AND s.id = $2', [position, keyText(sessionId)], limit)
    },
    async pendingCounts(): Promise<Map<string, number>> {
      const rows = await db.read<[string, number]>(
        `SELECT s.id, count(*)::int FROM ${inSession} WHERE i.pending GROUP BY s.id`,
      )
      return new Map(rows.map(([sessionId, counted]) => [fromKeyText(sessionId), counted]))
    },
    async deadlines({ before } = { before: Infinity }) {
      const rows = await db.read<[string, string, number]>(
        `SELECT s.id, i.id, i.expires_at FROM ${inSession} WHERE i.pending AND i.expires_at < $1`,
        [before],
      )
      return rows.map(([sessionId, interactionId, expiresAt]) => ({
        sessionId: fromKeyText(sessionId),
        interactionId: fromKeyText(interactionId),
        expiresAt,
      }))
    },
  }
}

function interactionOf(row: InteractionColumns): Interaction {
  const [, delivered, pending, request, requestAt, progress, progressAt, response, responseAt] = row
  return buildInteraction({
    request: eventAt('interaction_request', request, requestAt),
    ...(progress !== null && { progress: eventAt('interaction_progress', progress, progressAt) }),
    ...(response !== null && { response: eventAt('interaction_response', response, responseAt) }),
    delivered,
    pending,
  })
}

function eventAt<Type extends EventType>(type: Type, body: string, index: number | null): EventOf<Type> {
  const event = parseStored<SessionEvent[]>(body)[index ?? -1]
  if (event && hasType(event, type)) return event
  throw new Error(`its log has no ${type} where its index says`)
}

/** `LIMIT NULL` means no limit, and a `bigint` parameter cannot be infinite. */
function parameterOfLimit(limit: number): number | null {
  return limit === Infinity ? null : limit
}

/** One row more than the page, to know whether another page follows. */
function limitClause(limit: number): string {
  return limit === Infinity ? '' : ` LIMIT ${Math.trunc(limit) + 1}`
}
