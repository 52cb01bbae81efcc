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
  /** How many rows were changed by `run` since the beginning. */
  changes(): number
  exec(sql: string): void
  /** On another thread, as `commitAside`. */
  execAside(sql: string): Promise<void>
  begin(): void
  commit(): void
  /** On another thread. Nothing else may be asked of the connection meanwhile. */
  commitAside(): Promise<void>
  rollback(): void
  /** Checkpoints and leaves one file. False if that failed: then the journal stays, and the next start reads it. */
  close(): boolean
}

/** The engine's own way to run a statement on one of its threads, for a connection that is otherwise used from this one. */
// oxlint-disable-next-line typescript/unbound-method -- called with the connection that it is meant for
const execAside = AsyncDatabase.prototype.exec as (this: Database.Database, sql: string) => Promise<void>

export function connection(db: Database.Database, path: string): Connection {
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  let changed = 0
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
      return (...params) => {
        const { changes } = statement.run(params)
        changed += changes
        return changes
      }
    },
    changes: () => changed,
    exec: (sql) => void db.exec(sql),
    execAside: (sql) => execAside.call(db, sql),
    begin: () => void begin.run(),
    commit: () => void commit.run(),
    commitAside: () => execAside.call(db, 'COMMIT'),
    rollback() {
      if (db.inTransaction) db.exec('ROLLBACK')
    },
    close: () => closeWhole(db),
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
export function closeWhole(db: Database.Database): boolean {
  try {
    db.pragma('journal_mode = DELETE')
    db.pragma('locking_mode = NORMAL')
    db.prepare('SELECT count(*) FROM sqlite_schema').get()
    return true
  } catch {
    // On a full disk, say. All that was acknowledged is in the write-ahead log, where the next start finds it.
    return false
  } finally {
    db.close()
  }
}
