import type Database from 'libsql'
import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { checkRecent, IncompleteError, lossOf, missingDatabase, statusOf } from './completeness.js'
import { connection, type Connection } from './connection.js'
import { closeAsFound, markOpenHere, removeOwner, withLock, writeOwner } from './database-lock.js'
import { completeDerivedTables } from './derived-tables.js'
import { erasure, INCREMENTAL } from './erasure.js'
import { readMark, startMark, type Mark } from './mark.js'
import { FIRST_MARKED_VERSION, migrate, versionOf } from './migrations.js'

export interface OpenOptions {
  /**
   * Opens the database although acknowledged writes may be missing.
   *
   * @default false
   */
  acceptLoss?: boolean
}

export interface OpenDatabase extends Connection {
  readonly mark: Mark
  /** To be called after a failed sync. From then on closing writes nothing either. */
  abandon(): void
}

/** Referenced for ever, because the engine would write to the file when such a connection is garbage-collected. */
const abandoned: Database.Database[] = []

/** Locks the file for this process, checks that nothing acknowledged is missing, and migrates it to this version. */
export function openDatabase(file: string, { acceptLoss = false }: OpenOptions = {}): OpenDatabase {
  if (!acceptLoss) throwIfMissing(file)
  return withLock(file, (db, path) => {
    db.exec('PRAGMA synchronous = FULL')
    // On macOS a plain sync does not reach the disk; elsewhere this changes nothing.
    db.exec('PRAGMA fullfsync = ON')
    db.exec('PRAGMA secure_delete = ON')
    // Automatic checkpoints would run in this thread, and would not report a failed sync: see `checkpoints.ts`.
    db.exec('PRAGMA wal_autocheckpoint = 0')
    const opened = connection(db, path)
    const version = versionOf(db)
    if (version === 0 && !acceptLoss && readMark(path) !== null)
      throw new IncompleteError(missingDatabase(path))
    if (version >= FIRST_MARKED_VERSION) {
      if (acceptLoss) checkRecent(opened, path)
      else throwIfIncomplete(opened)
    }
    migrate(db)
    completeDerivedTables(opened)
    enableIncrementalVacuum(db)
    return startUse(db, opened)
  })
}

/** Throws the error with which a start would fail, without changing the database. No process may be using it. */
export function checkCanStart(file: string): void {
  throwIfMissing(file)
  // A start would create a database that is missing or empty.
  if (!statSync(file, { throwIfNoEntry: false })?.size) return
  withLock(file, (db, path, wasInUse) => {
    if (versionOf(db) >= FIRST_MARKED_VERSION) {
      const opened = connection(db, path)
      throwIfIncomplete(opened)
      // A store reads this first.
      erasure(opened).unfinished()
    }
    closeAsFound(db, path, wasInUse)
  })
}

function throwIfMissing(file: string): void {
  const path = resolve(file)
  if (!existsSync(path) && readMark(path) !== null) throw new IncompleteError(missingDatabase(path))
}

function throwIfIncomplete(db: Connection): void {
  const loss = lossOf(db, db.path)
  if (loss !== null) throw new IncompleteError(loss)
  checkRecent(db, db.path)
}

/** Records in the main file that from now on it is incomplete without its journal and its mark. */
function startUse(raw: Database.Database, db: Connection): OpenDatabase {
  const { path } = db
  const mark = startMark(db, path, statusOf(db))
  try {
    // Like every transaction that is marked, this one has a position.
    db.exec(`BEGIN IMMEDIATE;
      UPDATE meta SET value = 1 WHERE key = 'in_use';
      UPDATE meta SET value = (SELECT value FROM meta WHERE key = 'reserved') WHERE key = 'latest';
      UPDATE meta SET value = value + 1 WHERE key = 'reserved';
      COMMIT`)
    mark.note(statusOf(db).latest)
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch (error) {
    db.rollback()
    mark.close()
    throw error
  }
  writeOwner(path)
  markOpenHere(path, true)
  let isAbandoned = false

  function close(): boolean {
    // Before the lock is released, so that it cannot be the file of the next owner.
    removeOwner(path)
    if (isAbandoned) {
      abandoned.push(raw)
      return false
    }
    let isClean = true
    try {
      db.exec("UPDATE meta SET value = 0 WHERE key = 'in_use'")
    } catch {
      // Then the next start checks the files as after a crash.
      isClean = false
    }
    isClean = db.close() && isClean
    mark.close()
    if (isClean) mark.remove()
    markOpenHere(path, false)
    return isClean
  }

  return { ...db, mark, close, abandon: () => void (isAbandoned = true) }
}

/** Rewrites a file of an older version once, because only then it can give back free pages in small steps. */
function enableIncrementalVacuum(db: Database.Database): void {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- this pragma has one row with one number
  const [mode] = db.prepare('PRAGMA auto_vacuum').raw().get([]) as [number]
  if (mode === INCREMENTAL) return
  try {
    // By default this engine has temporary tables in memory, which may be smaller than the database.
    db.exec('PRAGMA temp_store = FILE; PRAGMA auto_vacuum = INCREMENTAL; VACUUM')
  } catch {
    // Without space for a second copy the file keeps its size, and works. The next start tries again.
  } finally {
    db.exec('PRAGMA temp_store = DEFAULT')
  }
}
