import { AskbackError } from '@askback/protocol'
import Database from 'libsql'
import { closeSync, existsSync, lstatSync, openSync, realpathSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { checkRecent, databaseIsGone, IncompleteError, lossOf, standing } from './completeness.js'
import { closeWhole, connection, type Connection } from './connection.js'
import { erasure } from './erasure.js'
import { codeOf, failure } from './failure.js'
import { hasJournal, isInJournalMode, journalFile, keepingJournal } from './journal.js'
import { readMark, startMark, type Mark } from './mark.js'
import { checkMake, migrate, VERSION, versionOf } from './migrations.js'
import { describeOwner, signOwner, unsignOwner } from './owner.js'
import { INCREMENTAL } from './vacuum.js'

export interface OpenOptions {
  /** Start with what is there, though acknowledged writes may be missing. */
  acceptLoss?: boolean
}

export interface OpenDatabase extends Connection {
  readonly mark: Mark
  /** After a failed sync: closing writes nothing either. */
  abandon(): void
}

/** The databases that this process has open: see `isInJournalMode`. */
const ours = new Set<string>()
/** Closed, as far as their users know. Collecting one as garbage would make the engine write to it. */
const abandoned: Database.Database[] = []

/** Opens the file for this process alone, checks that it is whole, and brings it to this version. */
export function openDatabase(file: string, { acceptLoss = false }: OpenOptions = {}): OpenDatabase {
  if (!acceptLoss) refuseGone(file)
  return locked(file, (db, path) => {
    db.exec('PRAGMA synchronous = FULL')
    // On macOS a plain sync does not reach the disk; elsewhere this changes nothing.
    db.exec('PRAGMA fullfsync = ON')
    db.exec('PRAGMA secure_delete = ON')
    // By themselves they would run on this thread, and keep a failed sync to themselves: see `checkpoints.ts`.
    db.exec('PRAGMA wal_autocheckpoint = 0')
    const opened = connection(db, path)
    const version = versionOf(db)
    if (version === 0 && !acceptLoss && readMark(path) !== null)
      throw new IncompleteError(databaseIsGone(path))
    if (version === VERSION) {
      if (acceptLoss) checkRecent(opened, path)
      else refuseIncomplete(opened)
    }
    migrate(db)
    enableIncrementalVacuum(db)
    return inUse(db, opened)
  })
}

/** Throws what a start would be refused for, without a change to the database, which nobody may be using. */
export function checkStart(file: string): void {
  refuseGone(file)
  // There is none, or an empty one: a start makes it.
  if (!statSync(file, { throwIfNoEntry: false })?.size) return
  locked(file, (db, path, wasInUse) => {
    if (versionOf(db) === VERSION) {
      const opened = connection(db, path)
      refuseIncomplete(opened)
      // The first that a store reads.
      erasure(opened).unfinished()
    }
    leaveAsItWas(db, path, wasInUse)
  })
}

function refuseGone(file: string): void {
  const path = resolve(file)
  if (!existsSync(path) && readMark(path) !== null) throw new IncompleteError(databaseIsGone(path))
}

function refuseIncomplete(db: Connection): void {
  const loss = lossOf(db, db.path)
  if (loss !== null) throw new IncompleteError(loss)
  checkRecent(db, db.path)
}

/** Runs `open` on the file while no other process has it; what it refuses is left as it was. */
export function locked<T>(
  file: string,
  open: (db: Database.Database, path: string, wasInUse: boolean) => T,
): T {
  // Absolute: the engine would take some names for a URL or for a database in memory.
  let path = resolve(file)
  let db: Database.Database | undefined
  let isLocked = false
  let wasInUse = false
  try {
    create(path)
    // Who holds it stands beside the file itself, by whatever link one comes.
    path = realpathSync(path)
    if (!ours.has(path)) {
      const hadJournal = hasJournal(path)
      wasInUse = isInJournalMode(path)
      // After a clean stop there is none, and the engine would apply whatever lies there. Looked for before and after:
      // another process may be starting or stopping right now.
      if (hadJournal && !wasInUse && hasJournal(path)) throw foreignJournal(path)
    }
    db = new Database(path)
    db.exec('PRAGMA locking_mode = EXCLUSIVE')
    // Has an effect on a new file only, and only before anything is written to it.
    db.exec('PRAGMA auto_vacuum = INCREMENTAL')
    checkMake(db, path)
    db.exec('PRAGMA journal_mode = WAL')
    db.exec('BEGIN EXCLUSIVE; COMMIT')
    isLocked = true
    return open(db, path, wasInUse)
  } catch (error) {
    if (db && isLocked) leaveAsItWas(db, path, wasInUse)
    else if (db) unlock(db)
    if (codeOf(error) === 'SQLITE_BUSY') {
      throw new AskbackError('unavailable', `The database ${path} is in use by ${describeOwner(path)}.`, {
        cause: error,
      })
    }
    throw failure(error, path)
  }
}

/**
 * Closes it. A database that was not stopped cleanly keeps its journal as it was found, because somebody may be able to
 * repair or complete that.
 */
export function leaveAsItWas(db: Database.Database, path: string, wasInUse: boolean): void {
  if (!wasInUse) {
    closeWhole(db)
    return
  }
  keepingJournal(path, () => {
    closeWhole(db)
    try {
      // Closing has left WAL mode, and a journal beside a file that is not in it counts as that of another database. Only
      // `exec` keeps no statement, and with it the file, open.
      const again = new Database(path)
      again.exec('PRAGMA journal_mode = WAL')
      again.close()
    } catch {
      // It could not be closed either, so it still is in WAL mode.
    }
  })
}

/** Says in the main file itself that from now on it is not whole without its journal and its mark. */
function inUse(raw: Database.Database, db: Connection): OpenDatabase {
  const { path } = db
  const mark = startMark(db, path, standing(db))
  try {
    // Takes a place, as every transaction does that is marked.
    db.exec(`BEGIN IMMEDIATE;
      UPDATE meta SET value = 1 WHERE key = 'in_use';
      UPDATE meta SET value = (SELECT value FROM meta WHERE key = 'reserved') WHERE key = 'latest';
      UPDATE meta SET value = value + 1 WHERE key = 'reserved';
      COMMIT`)
    mark.note(standing(db).latest)
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch (error) {
    db.rollback()
    mark.close()
    throw error
  }
  signOwner(path)
  ours.add(path)
  let isAbandoned = false

  function close(): boolean {
    // The note goes before the lock does, so that it is never another's.
    unsignOwner(path)
    if (isAbandoned) {
      abandoned.push(raw)
      return false
    }
    let isClean = true
    try {
      db.exec("UPDATE meta SET value = 0 WHERE key = 'in_use'")
    } catch {
      // Then the next start checks what it finds, as after a crash.
      isClean = false
    }
    isClean = db.close() && isClean
    mark.close()
    if (isClean) mark.remove()
    ours.delete(path)
    return isClean
  }

  return { ...db, mark, close, abandon: () => void (isAbandoned = true) }
}

/** Once, for a file of an older version: only a database that is written anew can give back space bit by bit. */
function enableIncrementalVacuum(db: Database.Database): void {
  const [mode] = db.prepare('PRAGMA auto_vacuum').raw().get([]) as [number]
  if (mode === INCREMENTAL) return
  try {
    // In memory, which is where this engine keeps temporary tables, a large database would not fit.
    db.exec('PRAGMA temp_store = FILE; PRAGMA auto_vacuum = INCREMENTAL; VACUUM')
  } catch {
    // Without room for a second copy it stays as large as it is, and works. The next start tries again.
  } finally {
    db.exec('PRAGMA temp_store = DEFAULT')
  }
}

/** Before the lock was ours. */
function unlock(db: Database.Database): void {
  try {
    db.pragma('locking_mode = NORMAL')
    db.pragma('user_version')
  } catch {
    // Said already: this is what it was refused for.
  } finally {
    db.close()
  }
}

function foreignJournal(path: string): AskbackError {
  return new AskbackError(
    'unavailable',
    `The journal ${journalFile(path)} is not that of the database ${path}, which was put beside it: put the database back that was there, or restore a backup with askback restore --replace.`,
  )
}

/** For its owner only. An existing file is not even opened here: closing it would drop a lock that this process holds. */
function create(path: string): void {
  if (existsSync(path)) {
    if (statSync(path).isDirectory())
      throw new AskbackError('unavailable', `The database ${path} is a folder.`)
    return
  }
  if (!existsSync(dirname(path))) {
    throw new AskbackError('unavailable', `The folder ${dirname(path)} of the database does not exist.`)
  }
  if (lstatSync(path, { throwIfNoEntry: false }))
    throw new AskbackError('unavailable', `The database ${path} is a link that leads nowhere.`)
  if (hasJournal(path)) throw foreignJournal(path)
  closeSync(openSync(path, 'wx', 0o600))
}
