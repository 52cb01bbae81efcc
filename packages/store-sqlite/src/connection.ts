import type Database from 'libsql'
import AsyncDatabase from 'libsql/promise'

/** What may be bound. The engine aborts the process on anything else, a boolean among them. */
export type Value = string | number | null

/**
 * Rows come as tuples. Text is selected as a blob: reading it as text, the engine cuts it at a NUL and aborts the process
 * on bytes that are not UTF-8, which is what a damaged disk gives.
 */
export interface Connection {
  readonly path: string
  get<Row extends unknown[]>(sql: string): (...params: Value[]) => Row | undefined
  all<Row extends unknown[]>(sql: string): (...params: Value[]) => Row[]
  /** Returns how many rows changed. */
  run(sql: string): (...params: Value[]) => number
  begin(): void
  commit(): void
  /** On another thread. Nothing else may be asked of the connection meanwhile. */
  commitAside(): Promise<void>
  rollback(): void
  close(): void
}

/** The engine's own way to run a statement on one of its threads, for a connection that is otherwise used from this one. */
// oxlint-disable-next-line typescript/unbound-method -- called with the connection that it is meant for
const execAside = AsyncDatabase.prototype.exec as (this: Database.Database, sql: string) => Promise<void>

export function connection(db: Database.Database, path: string): Connection {
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  return {
    path,
    // The engine is not typed; each caller states the row beside the columns it selects.
    get<Row>(sql: string) {
      const statement = db.prepare(sql).raw()
      return (...params) => statement.get(params) as Row | undefined
    },
    all<Row>(sql: string) {
      const statement = db.prepare(sql).raw()
      return (...params) => statement.all(params.map(finite)) as Row[]
    },
    run(sql) {
      const statement = db.prepare(sql)
      return (...params) => statement.run(params).changes
    },
    begin: () => void begin.run(),
    commit: () => void commit.run(),
    commitAside: () => execAside.call(db, 'COMMIT'),
    rollback() {
      if (db.inTransaction) db.exec('ROLLBACK')
    },
    close: () => release(db),
  }
}

/** "No limit" as a number that the engine takes for a LIMIT. */
function finite(value: Value): Value {
  return value === Infinity ? Number.MAX_SAFE_INTEGER : value
}

/**
 * Statements that are still referenced keep the engine's file open, and the lock with it, after `close()`. Leaving WAL
 * and exclusive mode gives the lock back now, and leaves one file behind.
 */
function release(db: Database.Database): void {
  try {
    db.pragma('journal_mode = DELETE')
    db.pragma('locking_mode = NORMAL')
    db.prepare('SELECT count(*) FROM sqlite_schema').get()
  } catch {
    // On a full disk, say. All that was acknowledged is in the write-ahead log, where the next start finds it.
  } finally {
    db.close()
  }
}
