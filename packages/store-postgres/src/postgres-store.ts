import type { AppendResult, LocalTime, AppendNotice, Snapshot, Store } from '@askback/core'
import { checkAppend, createDoorbell, endOfPrefix, StoreClock } from '@askback/core/store'
import { AskbackError } from '@askback/protocol'
import { appendParameters } from './append-parameters.js'
import { connect, type ConnectionOptions, type Database } from './database.js'
import { failure } from './failure.js'
import { kvTable } from './kv.js'
import { storeQueries } from './queries.js'
import { migrate, quoted } from './schema.js'
import { keyText } from './stored-text.js'
import { keyResource, sessionResource, writeQueue } from './write-queue.js'

/** The options of `postgresStore`. */
export interface PostgresStoreOptions extends ConnectionOptions {
  /**
   * The schema that holds all tables; it is created if it does not exist.
   *
   * @default 'askback'
   */
  schema?: string
  /**
   * The clocks of this machine; for tests.
   *
   * @default `Date.now()` and `performance.now()`
   */
  localTime?: LocalTime
}

/** Rows that one transaction of an erasure deletes. */
const PURGE_ROWS = 1000
/** One parameter for each column of `appendParameters`. */
const APPEND_PARAMETERS = Array.from({ length: 34 }, (_, index) => `$${index + 1}`).join(', ')

/**
 * Opens a store in PostgreSQL, which any number of processes may share. Creates or migrates the schema first. Rejects with
 * `unavailable` and a sentence that says what to do if the database cannot be used. A write is acknowledged after its commit.
 *
 * @example
 * const store = await postgresStore({ url: 'postgres://askback@localhost/askback' })
 * const desk = createDesk({ store })
 */
export async function postgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { schema = 'askback', localTime } = options
  const db = connect(options)
  const clock = new StoreClock({
    readTime: () => databaseTime(db),
    ...(localTime && { local: localTime }),
  })
  try {
    await migrate(db, schema, advisoryLock(schema))
    await clock.start()
    return createStore(db, quoted(schema), advisoryLock(schema), clock)
  } catch (error) {
    clock.close()
    await db.close()
    throw failure(error, db.address)
  }
}

/** `now()` would be the time at which the transaction began. */
async function databaseTime(db: Database): Promise<number> {
  const sql = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8'
  const [row] = await db.read<[number]>(sql)
  return row![0]
}

function createStore(db: Database, schema: string, lock: string, clock: StoreClock): Store {
  const kv = kvTable(db, schema, lock)
  const queries = storeQueries(db, schema)
  const bell = createDoorbell<AppendNotice>()
  let closed = false

  const queue = writeQueue(async (appends) => {
    const sql = `SELECT ${schema}.append(${APPEND_PARAMETERS})`
    const [row] = await db.write<[number[]]>(sql, appendParameters(appends))
    return row![0].map(appendResult)
  })

  /** Turns errors about damaged rows into those of a store. */
  async function read<T>(query: () => Promise<T>): Promise<T> {
    throwIfClosed()
    try {
      return await query()
    } catch (error) {
      throw failure(error, db.address)
    }
  }

  async function write<T>(resources: string[] | null, work: () => Promise<T>): Promise<T> {
    throwIfClosed()
    return queue.submit(resources, work)
  }

  function throwIfClosed(): void {
    if (closed) throw new AskbackError('unavailable', 'The store is closed.')
  }

  /** The erasures that are running here, by session id: a repeated call ends with the first one. */
  const purging = new Map<string, Promise<void>>()

  async function purge(sessionKey: number): Promise<void> {
    for (;;) {
      const [row] = await db.write<[boolean]>(`SELECT ${schema}.purge($1, $2)`, [sessionKey, PURGE_ROWS])
      if (row![0]) return
    }
  }

  /** Purges sessions whose erasure was interrupted, in another process or in this one before a crash. */
  async function finishErasures(): Promise<void> {
    const sql = `SELECT session FROM ${schema}.erasures WHERE NOT purged AND at < now() - interval '1 minute'`
    for (const [sessionKey] of await db.read<[number]>(sql)) await purge(sessionKey)
  }
  // Nobody waits for this. If it fails, the next start tries again.
  finishErasures().catch(() => undefined)

  return {
    shared: true,
    clock,
    async append(append) {
      throwIfClosed()
      checkAppend(append)
      const result = await queue.append(append)
      if (result.ok) bell.ring({ sessionId: append.sessionId, eventId: append.events.at(-1)!.id })
      return result
    },
    read: (query) => read(() => queries.read(query)),

    session: (sessionId) => read(() => queries.session(sessionId)),
    sessions: (query) => read(() => queries.sessions(query)),
    countSessions: () => read(() => queries.countSessions()),

    interaction: (interactionId) => read(() => queries.interaction(interactionId)),
    interactionsOf: (sessionId, toolCallId) => read(() => queries.interactionsOf(sessionId, toolCallId)),
    pending: (query) => read(() => queries.pending(query)),
    countPending: () => read(() => queries.countPending()),
    pendingCounts: () => read(() => queries.pendingCounts()),
    deadlines: (query) => read(() => queries.deadlines(query)),
    toolCall: (sessionId, toolCallId) => read(() => queries.toolCall(sessionId, toolCallId)),

    audit: (query) => read(() => queries.audit(query)),
    addAudit: (rows) =>
      write(null, async () => {
        const sql = `WITH held AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(${lock}))
          INSERT INTO ${schema}.audit (number, session, body) SELECT nextval('${schema}.numbers'), 0, body
          FROM held, unnest($1::text[]) WITH ORDINALITY AS u(body, n) ORDER BY n`
        await db.write(sql, [rows.map((row) => JSON.stringify(row))])
      }),
    changes: (query) => read(() => queries.changes(query)),
    changedSessions: (query) => read(() => queries.changedSessions(query)),
    head: () => read(() => queries.head()),

    kv: {
      get: (key) => read(() => kv.get(key)),
      list: (prefix) => read(() => kv.list(prefix)),
      put: (key, value, expected, act) => write([keyResource(key)], () => kv.put(key, value, expected, act)),
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

    loadSnapshot: (sessionId) => read(() => queries.loadSnapshot(sessionId)),
    saveSnapshot: (sessionId, snapshot, logId) =>
      write([sessionResource(sessionId)], () => saveSnapshot(db, schema, sessionId, snapshot, logId)),

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
      const sessionKey = row![0]
      const running = purging.get(sessionId)
      if (sessionKey === null) return running
      const started = Promise.all([running, purge(sessionKey)]).then(() => undefined)
      purging.set(sessionId, started)
      await started.finally(() => purging.get(sessionId) === started && purging.delete(sessionId))
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

/** Writes nothing if the session has another log by now, or if its log is shorter than the snapshot. */
async function saveSnapshot(
  db: Database,
  schema: string,
  sessionId: string,
  { seq, version, state }: Snapshot,
  logId?: string,
): Promise<void> {
  await db.write(
    `INSERT INTO ${schema}.snapshots (session, seq, version, state)
     SELECT key, $2::bigint, $3::bigint, $4::text FROM ${schema}.sessions
     WHERE id = $1 AND seq >= $2::bigint AND ($5::text IS NULL OR log_id = $5::text)
     ON CONFLICT (session) DO UPDATE SET seq = excluded.seq, version = excluded.version, state = excluded.state
     WHERE excluded.seq >= snapshots.seq`,
    [keyText(sessionId), seq, version, JSON.stringify(state), logId === undefined ? null : keyText(logId)],
  )
}

/** In the order of the numbers that the function `append` returns, from 1. */
const CONFLICTS = ['seq', 'kv', 'fence', 'locked'] as const

function appendResult(code: number): AppendResult {
  if (code === 0) return { ok: true }
  return { ok: false, conflict: CONFLICTS[code - 1]! }
}

/** The two numbers of the advisory lock that belongs to a schema. */
function advisoryLock(schema: string): string {
  return `hashtext('askback'), hashtext('${schema.replaceAll("'", "''")}')`
}
