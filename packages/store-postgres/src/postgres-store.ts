import {
  checkAppend,
  doorbell,
  placeOfCursor,
  StoreClock,
  type AppendResult,
  type LocalTime,
  type Ring,
  type Store,
} from '@askback/core'
import { AskbackError, type SessionEvent, type AuditRow } from '@askback/protocol'
import { appendParameters } from './append-batch.js'
import { connect, type ConnectionOptions, type Database } from './database.js'
import { failure } from './failure.js'
import { interactionReader } from './interactions.js'
import { endOfPrefix, fromKeyText, keyText } from './key-text.js'
import { kvTable } from './kv.js'
import { migrate, quoted } from './migrations.js'
import { sessionTable } from './sessions.js'
import { stored } from './stored.js'
import { ofKey, ofSession, writes } from './writes.js'

export interface PostgresStoreOptions extends ConnectionOptions {
  /** Holds everything; made if it is missing. */
  schema?: string
  /** What this machine knows of time by itself; for tests. */
  localTime?: LocalTime
}

const ROWS_AT_ONCE = 1000
/** One parameter for each column of `append`. */
const PARAMETERS = Array.from({ length: 34 }, (_, index) => `$${index + 1}`).join(', ')

/** One database for any number of processes. What is acknowledged is committed. */
export async function postgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { schema = 'askback', localTime } = options
  const db = connect(options)
  const clock = new StoreClock({
    readTime: () => databaseTime(db),
    ...(localTime && { local: localTime }),
  })
  try {
    await migrate(db, schema, lockOf(schema))
    await clock.start()
    return storeOn(db, quoted(schema), lockOf(schema), clock)
  } catch (error) {
    clock.close()
    await db.close()
    throw failure(error, db.where)
  }
}

/** Not `now()`, which is the time when the transaction began. */
async function databaseTime(db: Database): Promise<number> {
  const sql = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8'
  const [row] = await db.read<[number]>(sql)
  return row![0]
}

function storeOn(db: Database, schema: string, lock: string, clock: StoreClock): Store {
  const kv = kvTable(db, schema, lock)
  const session = sessionTable(db, schema)
  const interactions = interactionReader(db, schema)
  const bell = doorbell<Ring>()
  let closed = false

  const queue = writes(async (appends) => {
    const sql = `SELECT ${schema}.append(${PARAMETERS})`
    const [row] = await db.write<[number[]]>(sql, appendParameters(appends))
    return row![0].map(resultOf)
  })

  /** What a row holds that the database did not notice. */
  async function read<T>(query: () => Promise<T>): Promise<T> {
    open()
    try {
      return await query()
    } catch (error) {
      throw failure(error, db.where)
    }
  }

  async function write<T>(touches: string[] | null, work: () => Promise<T>): Promise<T> {
    open()
    return queue.submit(touches, work)
  }

  function open(): void {
    if (closed) throw new AskbackError('unavailable', 'The store is closed.')
  }

  async function count(sql: string): Promise<number> {
    const [row] = await read(() => db.read<[number]>(sql))
    return row![0]
  }

  async function purge(gone: number): Promise<void> {
    for (;;) {
      const [row] = await db.write<[boolean]>(`SELECT ${schema}.purge($1, $2)`, [gone, ROWS_AT_ONCE])
      if (row![0]) return
    }
  }

  /** What another process, or this one before a crash, left half erased. */
  async function finishErasures(): Promise<void> {
    const sql = `SELECT session FROM ${schema}.erasures WHERE NOT purged AND at < now() - interval '1 minute'`
    for (const [gone] of await db.read<[number]>(sql)) await purge(gone)
  }
  // Nobody waits for it; what fails now is found again at the next start.
  finishErasures().catch(() => undefined)

  return {
    shared: true,
    clock,
    async append(append) {
      open()
      checkAppend(append)
      const result = await queue.append(append)
      if (result.ok) bell.ring({ sessionId: append.sessionId, eventId: append.events.at(-1)!.id })
      return result
    },
    read: ({ sessionId, after = 0, before, limit }) =>
      read(async () => {
        const most = limit === Infinity ? null : limit
        const sql = `SELECT * FROM ${schema}.read($1, $2, $3, $4)`
        const rows = await db.read<[string]>(sql, [keyText(sessionId), after, before ?? null, most])
        const events = rows
          .flatMap(([body]) => stored<SessionEvent[]>(body))
          .filter(({ seq }) => seq > after && (before === undefined || seq < before))
        return before === undefined
          ? events.slice(0, limit)
          : events.slice(-Math.min(limit, events.length || 1))
      }),

    session: (sessionId) => read(() => session.session(sessionId)),
    sessions: (query) => read(() => session.sessions(query)),
    countSessions: () => count(`SELECT count(*) FROM ${schema}.sessions`),

    interaction: (interactionId) =>
      read(async () => (await interactions.find('i.id = $1', [keyText(interactionId)]))[0] ?? null),
    interactionsOf: (sessionId, toolCallId) =>
      read(() =>
        interactions.find('s.id = $1 AND i.tool_call_id = $2 ORDER BY i.number', [
          keyText(sessionId),
          keyText(toolCallId),
        ]),
      ),
    pending: ({ sessionId, after = '0', limit }) =>
      read(() => {
        const place = placeOfCursor(after)
        return sessionId === undefined
          ? interactions.page('i.pending AND i.number > $1', [place], limit)
          : interactions.page('i.pending AND i.number > $1 AND s.id = $2', [place, keyText(sessionId)], limit)
      }),
    countPending: () => count(`SELECT count(*) FROM ${schema}.interactions WHERE pending`),
    pendingCounts: () =>
      read(async () => {
        const rows = await db.read<[string, number]>(
          `SELECT s.id, count(*)::int FROM ${schema}.interactions i JOIN ${schema}.sessions s ON s.key = i.session
           WHERE i.pending GROUP BY s.id`,
          [],
        )
        return new Map(rows.map(([sessionId, counted]) => [fromKeyText(sessionId), counted]))
      }),
    deadlines: ({ before = Infinity } = { before: Infinity }) =>
      read(async () => {
        const rows = await db.read<[string, string, number]>(
          `SELECT s.id, i.id, i.expires_at FROM ${schema}.interactions i JOIN ${schema}.sessions s ON s.key = i.session
           WHERE i.pending AND i.expires_at < $1`,
          [before],
        )
        return rows.map(([sessionId, interactionId, expiresAt]) => ({
          sessionId: fromKeyText(sessionId),
          interactionId: fromKeyText(interactionId),
          expiresAt,
        }))
      }),
    toolCall: (sessionId, toolCallId) =>
      read(async () => {
        const [row] = await db.read<[boolean]>(
          `SELECT t.ended FROM ${schema}.tool_calls t JOIN ${schema}.sessions s ON s.key = t.session
           WHERE s.id = $1 AND t.id = $2`,
          [keyText(sessionId), keyText(toolCallId)],
        )
        return row ? { ended: row[0] } : null
      }),

    audit: ({ after = '0', limit }) =>
      read(async () => {
        const most = limit === Infinity ? null : limit + 1
        const sql = `SELECT * FROM ${schema}.audit_after($1, $2)`
        const rows = await db.read<[number, string, string | null]>(sql, [placeOfCursor(after), most])
        const items = rows.slice(0, limit)
        return {
          items: items.map(([, body, message]) => ({
            ...stored<AuditRow>(body),
            ...(message !== null && { message: stored<string>(message) }),
          })),
          next: rows.length > limit ? String(items.at(-1)![0]) : null,
        }
      }),
    addAudit: (rows) =>
      write(null, async () => {
        const sql = `WITH held AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(${lock}))
          INSERT INTO ${schema}.audit (number, session, body) SELECT nextval('${schema}.numbers'), 0, body
          FROM held, unnest($1::text[]) WITH ORDINALITY AS u(body, n) ORDER BY n`
        await db.write(sql, [rows.map((row) => JSON.stringify(row))])
      }),
    changes: ({ after = '0', limit }) =>
      read(async () => {
        const most = limit === Infinity ? null : limit
        const sql = `SELECT * FROM ${schema}.changes($1, $2)`
        const rows = await db.read<[number, string, string | null]>(sql, [placeOfCursor(after), most])
        return rows.map(([place, sessionId, body]) => ({
          cursor: String(place),
          sessionId: fromKeyText(sessionId),
          events: body === null ? [] : stored<SessionEvent[]>(body),
        }))
      }),
    news: ({ after, limit }) =>
      read(async () => {
        const sql = `SELECT * FROM ${schema}.log_news($1, $2)`
        const rows = await db.read<[number, string, string | null, number | null]>(sql, [
          placeOfCursor(after),
          limit,
        ])
        return rows.map(([place, sessionId, logId, seq]) => ({
          cursor: String(place),
          sessionId: fromKeyText(sessionId),
          ...(logId !== null && seq !== null && { reaches: { logId: fromKeyText(logId), seq } }),
        }))
      }),
    head: async () => String(await count(`SELECT ${schema}.head()`)),

    kv: {
      get: (key) => read(() => kv.get(key)),
      list: (prefix) => read(() => kv.list(prefix)),
      put: (key, value, expected, act) => write([ofKey(key)], () => kv.put(key, value, expected, act)),
    },

    locks: {
      acquire: (sessionId, owner, ms) =>
        write([], async () => {
          const sql = `INSERT INTO ${schema}.locks AS l (session_id, owner, until)
            VALUES ($1, $2, clock_timestamp() + $3 * interval '1 millisecond')
            ON CONFLICT (session_id) DO UPDATE SET owner = excluded.owner, until = excluded.until
              WHERE l.owner = excluded.owner OR l.until <= clock_timestamp()
            RETURNING 1`
          return (await db.write(sql, [keyText(sessionId), owner, ms])).length > 0
        }),
      release: (sessionId, owner) =>
        write([], async () => {
          const sql = `DELETE FROM ${schema}.locks WHERE session_id = $1 AND owner = $2`
          await db.write(sql, [keyText(sessionId), owner])
        }),
    },

    loadSnapshot: (sessionId) => read(() => session.loadSnapshot(sessionId)),
    saveSnapshot: (sessionId, snapshot, logId) =>
      write([ofSession(sessionId)], () => session.saveSnapshot(sessionId, snapshot, logId)),

    async erase(sessionId, logId) {
      const prefix = keyText(`session/${sessionId}/`)
      const [row] = await write(null, () =>
        db.write<[number | null]>(`SELECT ${schema}.erase($1, $2, $3, $4)`, [
          keyText(sessionId),
          logId === undefined ? null : keyText(logId),
          prefix,
          endOfPrefix(prefix),
        ]),
      )
      const gone = row![0]
      if (gone !== null) await purge(gone)
    },

    onAppend: (listener) => bell.on(listener),
    async close() {
      if (closed) return
      closed = true
      clock.close()
      await queue.drained()
      await db.close()
    },
  }
}

/** In the order of the numbers that `append` answers. */
const CONFLICTS = ['seq', 'kv', 'fence', 'locked'] as const

function resultOf(outcome: number): AppendResult {
  if (outcome === 0) return { ok: true }
  return { ok: false, conflict: CONFLICTS[outcome - 1]! }
}

/** The advisory lock of a schema: its own name, as two numbers. */
function lockOf(schema: string): string {
  return `hashtext('askback'), hashtext('${schema.replaceAll("'", "''")}')`
}
