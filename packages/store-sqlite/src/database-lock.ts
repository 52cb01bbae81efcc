import { AskbackError } from '@askback/protocol'
import type Database from 'libsql'
import {
  closeSync,
  existsSync,
  lstatSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { dirname, resolve } from 'node:path'
import { closeDatabase } from './connection.js'
import { engine } from './engine.js'
import { codeOf, failure } from './failure.js'
import { hasJournal, isInJournalMode, journalFile, preserveJournal } from './journal.js'
import { checkFormat } from './migrations.js'

/*
 * One process at a time uses a database: SQLite holds an exclusive lock on the file. A process that gets the lock finds the file in one of
 * two states: after a clean stop it is one file without a journal; otherwise it is in WAL mode and belongs to its journal.
 *
 * Locks of POSIX belong to the process, and closing any descriptor of the file releases them. So while this process has a database
 * open (`openPaths`), it must not open and close the same file elsewhere.
 */

const openPaths = new Set<string>()

/** Records whether this process has the database open. */
export function markOpenHere(path: string, isOpen: boolean): void {
  if (isOpen) openPaths.add(path)
  else openPaths.delete(path)
}

/**
 * Locks the file for this process, creating it if it does not exist, and runs `open`. If `open` throws, the database is closed as
 * it was found. Throws `unavailable` if another process has it.
 */
export function withLock<T>(
  file: string,
  open: (db: Database.Database, path: string, wasInUse: boolean) => T,
): T {
  // Absolute, because the engine reads some names as a URL or as a database in memory.
  let path = resolve(file)
  let db: Database.Database | undefined
  let isLocked = false
  // Before the file is created.
  const { Database: Engine } = engine()
  let wasInUse = false
  try {
    create(path)
    // Files beside the database are found by its real path, also if the caller used a link.
    path = realpathSync(path)
    if (!openPaths.has(path)) {
      const hadJournal = hasJournal(path)
      wasInUse = isInJournalMode(path)
      // After a clean stop there is no journal, and the engine would apply any that it finds. It is looked for before and after,
      // because another process may be starting or stopping at this moment.
      if (hadJournal && !wasInUse && hasJournal(path)) throw foreignJournal(path)
    }
    db = new Engine(path)
    db.exec('PRAGMA locking_mode = EXCLUSIVE')
    // Has an effect only on a new file, before anything is written to it.
    db.exec('PRAGMA auto_vacuum = INCREMENTAL')
    checkFormat(db, path)
    db.exec('PRAGMA journal_mode = WAL')
    db.exec('BEGIN EXCLUSIVE; COMMIT')
    isLocked = true
    return open(db, path, wasInUse)
  } catch (error) {
    if (db && isLocked) closeAsFound(db, path, wasInUse)
    else if (db) closeUnlocked(db)
    if (codeOf(error) === 'SQLITE_BUSY') {
      throw new AskbackError('unavailable', `The database ${path} is in use by ${describeOwner(path)}.`, {
        cause: error,
      })
    }
    throw failure(error, path)
  }
}

/**
 * Closes a database without a change. If it was not stopped cleanly, its journal stays as it was found, because somebody may be
 * able to repair or complete it.
 */
export function closeAsFound(db: Database.Database, path: string, wasInUse: boolean): void {
  if (!wasInUse) {
    closeDatabase(db)
    return
  }
  preserveJournal(path, () => {
    closeDatabase(db)
    try {
      // Closing has left WAL mode, and a journal beside a file that is not in WAL mode counts as that of another database. Only
      // `exec` keeps no statement, and with it the file, open.
      const { Database: Engine } = engine()
      const again = new Engine(path)
      again.exec('PRAGMA journal_mode = WAL')
      again.close()
    } catch {
      // Then it could not be closed either, so it is still in WAL mode.
    }
  })
}

/** Closes a database whose lock this process did not get. */
function closeUnlocked(db: Database.Database): void {
  try {
    db.pragma('locking_mode = NORMAL')
    db.pragma('user_version')
  } catch {
    // The caller throws the error for which it could not be locked.
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

/** Creates the file for its owner only. An existing file is not opened: closing it would release a lock of this process. */
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

/**
 * Writes a file beside the database that names this process, for the error that a second process gets. The lock itself is one of
 * the operating system, which ends with its process.
 */
export function writeOwner(path: string): void {
  const owner = { pid: process.pid, host: hostname(), since: new Date().toISOString() }
  try {
    writeFileSync(ownerFile(path), JSON.stringify(owner), { mode: 0o600 })
  } catch {
    // The lock works without it.
  }
}

export function removeOwner(path: string): void {
  rmSync(ownerFile(path), { force: true })
}

export function describeOwner(path: string): string {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- may be any JSON: the fields are checked below
    const { pid, host, since } = JSON.parse(readFileSync(ownerFile(path), 'utf8')) as Record<string, unknown>
    if (typeof pid !== 'number' || (host === hostname() && !isRunning(pid)))
      return 'another process: stop that first'
    if (pid === process.pid && host === hostname()) return 'this process already'
    return `process ${pid} on ${String(host)} since ${String(since)}: stop that first`
  } catch {
    return 'another process: stop that first'
  }
}

function ownerFile(path: string): string {
  return `${path}-owner`
}

/** A zombie, which has ended but was not reaped by its parent, holds no lock. */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0) && !isZombie(pid)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

function isZombie(pid: number): boolean {
  try {
    // The state comes after the name, which is in parentheses and may contain anything.
    return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    // Only Linux has this file.
    return false
  }
}
