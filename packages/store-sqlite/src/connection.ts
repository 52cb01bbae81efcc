import type Database from 'libsql'
import { isUtf8 } from 'node:buffer'
import { engine } from './engine.js'

/** What may be bound to a parameter. The engine aborts the process on anything else, also on a boolean. */
export type Parameter = string | number | null

/**
 * Prepared statements on one database. Rows are tuples in the order of the selected columns. Text must be selected as a blob: as
 * text, the engine cuts it at a NUL and aborts the process on bytes that are not UTF-8, which a damaged disk can return.
 */
export interface Connection {
  readonly path: string
  get<Row extends unknown[]>(sql: string): (...params: Parameter[]) => Row | undefined
  all<Row extends unknown[]>(sql: string): (...params: Parameter[]) => Row[]
  /** Returns how many rows changed. */
  run(sql: string): (...params: Parameter[]) => number
  /** For a statement whose number of changed rows is not needed, which is cheaper. */
  write(sql: string): (...params: Parameter[]) => void
  /** Grows with every row that `run` changes, and with every `write`. */
  changes(): number
  exec(sql: string): void
  /** Runs in another thread, like `commitInThread`. */
  execAside(sql: string): Promise<void>
  begin(): void
  commit(): void
  /** Between transactions: whether each commit waits until it is on the disk. A synced commit syncs earlier ones, too. */
  setSync(isOn: boolean): void
  /** Commits in another thread. The connection must not be used until it has resolved. */
  commitInThread(): Promise<void>
  rollback(): void
  /** Moves the journal into the main file. Returns false if that failed; then the next start reads the journal. */
  close(): boolean
}

/** A method of the engine's asynchronous API, which runs a statement in one of its threads, for a synchronous connection. */
function execAside(db: Database.Database, sql: string): Promise<void> {
  // oxlint-disable-next-line typescript/unbound-method -- called with the connection that it is meant for
  const exec = engine().AsyncDatabase.prototype.exec as (
    this: Database.Database,
    sql: string,
  ) => Promise<void>
  return exec.call(db, sql)
}

export function connection(db: Database.Database, path: string): Connection {
  let changed = 0
  return {
    path,
    // Rows are not typed: each caller states their type beside the columns it selects.
    get<Row>(sql: string) {
      const statement = db.prepare(sql).raw()
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
      return (...params) => statement.get(params) as Row | undefined
    },
    all<Row>(sql: string) {
      const statement = db.prepare(sql).raw()
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
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
    write(sql) {
      const statement = db.prepare(sql)
      return (...params) => {
        changed += 1
        // It has no rows. `run` would make an object of what it did, which takes about as long as doing it.
        statement.get(params)
      }
    },
    changes: () => changed,
    exec: (sql) => void db.exec(sql),
    execAside: (sql) => execAside(db, sql),
    // `exec` returns nothing; a prepared statement returns an object that costs more than these two do.
    begin: () => void db.exec('BEGIN IMMEDIATE'),
    commit: () => void db.exec('COMMIT'),
    setSync: (isOn) => void db.exec(`PRAGMA synchronous = ${isOn ? 'FULL' : 'NORMAL'}`),
    commitInThread: () => execAside(db, 'COMMIT'),
    rollback() {
      if (db.inTransaction) db.exec('ROLLBACK')
    },
    close: () => closeDatabase(db),
  }
}

/** The engine rejects infinity as a LIMIT. */
function finite(value: Parameter): Parameter {
  return value === Infinity ? Number.MAX_SAFE_INTEGER : value
}

/**
 * Closes a database so that one file is left. Statements that are still referenced would keep the engine's file open after
 * `close()`, and with it the lock. Leaving WAL mode and exclusive mode releases the lock at once. Returns false if that failed.
 */
export function closeDatabase(db: Database.Database): boolean {
  try {
    db.pragma('journal_mode = DELETE')
    db.pragma('locking_mode = NORMAL')
    db.prepare('SELECT count(*) FROM sqlite_schema').get()
    return true
  } catch {
    // For example on a full disk. Everything acknowledged is in the journal, where the next start finds it.
    return false
  } finally {
    db.close()
  }
}

/** Parses a column that this store wrote as JSON. It is trusted, so the caller states its type. */
export function parseStored<T>(json: Buffer): T {
  if (!isUtf8(json)) throw new DamagedError('a stored value is not text')
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- trusted, as above
    return JSON.parse(json.toString()) as T
  } catch (error) {
    throw new DamagedError('a stored value is not JSON', { cause: error })
  }
}

/** Damage that the engine did not detect, with the code that the engine uses for damage. */
export class DamagedError extends Error {
  readonly code = 'SQLITE_CORRUPT'
}
