import { AskbackError } from '@askback/protocol'
import Database from 'libsql'
import { closeSync, existsSync, lstatSync, openSync, realpathSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { connection, type Connection } from './connection.js'
import { codeOf, failure } from './failure.js'
import { checkMake, migrate } from './migrations.js'
import { describeOwner, signOwner, unsignOwner } from './owner.js'

/** Opens the file for this process alone and brings it to this version. */
export function openDatabase(file: string): Connection {
  // Absolute: the engine would take some names for a URL or for a database in memory.
  let path = resolve(file)
  let db: Database.Database | undefined
  try {
    create(path)
    // Who holds it stands beside the file itself, by whatever link one comes.
    path = realpathSync(path)
    db = new Database(path)
    db.exec('PRAGMA locking_mode = EXCLUSIVE')
    checkMake(db, path)
    db.exec('PRAGMA journal_mode = WAL')
    db.exec('PRAGMA synchronous = FULL')
    // On macOS a plain sync does not reach the disk; elsewhere this changes nothing.
    db.exec('PRAGMA fullfsync = ON')
    db.exec('PRAGMA secure_delete = ON')
    // 16 MB: an append touches a page of every index, and most of them again before they need to be written back.
    db.exec('PRAGMA wal_autocheckpoint = 4000')
    db.exec('BEGIN EXCLUSIVE; COMMIT')
    migrate(db)
    return signed(connection(db, path))
  } catch (error) {
    if (db) abandon(db)
    if (codeOf(error) === 'SQLITE_BUSY') {
      throw new AskbackError('unavailable', `The database ${path} is in use by ${describeOwner(path)}.`, {
        cause: error,
      })
    }
    throw failure(error, path)
  }
}

/** The note goes before the lock does, so that it is never another's. */
function signed(db: Connection): Connection {
  signOwner(db.path)
  return {
    ...db,
    close() {
      unsignOwner(db.path)
      db.close()
    },
  }
}

/** What is refused is left as it was, and unlocked where the engine can do so at once. */
function abandon(db: Database.Database): void {
  try {
    db.pragma('locking_mode = NORMAL')
    db.pragma('user_version')
  } catch {
    // Said already: this is what it was refused for.
  } finally {
    db.close()
  }
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
  closeSync(openSync(path, 'wx', 0o600))
}
