import { AskbackError } from '@askback/protocol'
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { resolve } from 'node:path'
import { checkDatabase, type DatabaseCounts } from './deep-check.js'
import { engine } from './engine.js'
import { codeOf } from './failure.js'
import { closeAsFound, withLock } from './database-lock.js'
import { hasJournal, journalFile } from './journal.js'
import { markFile, syncFolder } from './mark.js'
import { RANDOM_ID, versionOf } from './migrations.js'
import { openDatabase } from './open.js'

/**
 * Turns the bytes that `Store.copy` returned into a backup: a database that needs no other file, checked completely and synced before
 * it gets its name. The draft is removed in any case. Throws `invalid_request` if `file` exists and `replace` is not set, or
 * if the copy is damaged.
 *
 * @param draft the copied bytes, in the folder of `file`
 * @example
 * await store.copy(({ chunks }) => pipeline(chunks, createWriteStream('backup.db.draft')))
 * finishBackup('backup.db.draft', 'backup.db')
 */
export function finishBackup(
  draft: string,
  file: string,
  { replace = false }: { replace?: boolean } = {},
): DatabaseCounts {
  try {
    finishCopy(draft)
    const counts = checkWhole(draft, 'The copy')
    if (replace) renameSync(draft, file)
    else renameToNew(draft, file)
    syncFolder(file)
    return counts
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST')
      throw new AskbackError('invalid_request', `There is a file ${file} already.`)
    throw error
  } finally {
    removeAll(draft)
  }
}

/**
 * Makes a copied database look as after a clean stop. It gets a new id, so that the mark of its original is not taken for its own.
 */
export function finishCopy(path: string): void {
  const { Database } = engine()
  const db = new Database(resolve(path))
  try {
    db.exec(`PRAGMA locking_mode = EXCLUSIVE;
      UPDATE meta SET value = 0 WHERE key = 'in_use';
      UPDATE meta SET value = ${RANDOM_ID} WHERE key = 'id';
      PRAGMA journal_mode = DELETE`)
  } finally {
    db.close()
  }
  syncFile(path)
}

/**
 * Replaces a database that no process uses by a backup. The backup is copied into the same folder, checked completely, and then
 * renamed; if anything fails before, the old database is unchanged. Throws `invalid_request` if the backup is damaged, or if there
 * is data and `replace` is not set.
 *
 * @example
 * restoreDatabase('backup.db', 'askback.db', { replace: true })
 */
export function restoreDatabase(
  backup: string,
  path: string,
  { replace = false }: { replace?: boolean } = {},
): DatabaseCounts {
  // A device, for example, may be endless.
  if (!statSync(backup, { throwIfNoEntry: false })?.isFile())
    throw new AskbackError('invalid_request', `There is no file ${backup}.`)
  if (hasJournal(backup)) {
    throw new AskbackError(
      'invalid_request',
      `The file ${backup} is no backup: it has a journal, ${journalFile(backup)}, beside it. Make one with askback backup.`,
    )
  }
  const exists = [path, journalFile(path), markFile(path)].some((file) => existsSync(file))
  if (exists && !replace) {
    throw new AskbackError(
      'invalid_request',
      `There is data in ${path} already: name another folder with --data, or give --replace to lose what is there.`,
    )
  }
  if (exists) checkUnused(path)
  const draft = `${path}.restoring`
  try {
    const counts = prepare(backup, draft)
    // Preparing takes long enough for a gateway to start meanwhile.
    if (exists) checkUnused(path)
    // First, because a journal that is left would be applied to the backup. After a crash in between, the next start fails unless
    // the old database is complete.
    removeSideFiles(path)
    renameSync(draft, path)
    syncFolder(path)
    return counts
  } catch (error) {
    removeAll(draft)
    throw error
  }
}

/** Copies, migrates, checks and syncs a backup. */
function prepare(backup: string, draft: string): DatabaseCounts {
  removeAll(draft)
  copyFileSync(backup, draft)
  chmodSync(draft, 0o600)
  try {
    // Opening an empty file would create an empty database.
    if (isEmpty(draft))
      throw new AskbackError('invalid_request', `The file ${draft} is no backup: there is nothing in it.`)
    openDatabase(draft).close()
    finishCopy(draft)
    return checkWhole(draft, `The backup ${backup}`)
  } catch (error) {
    if (!(error instanceof AskbackError)) throw error
    // The message must name the backup, not the draft.
    throw new AskbackError(error.code, error.message.replaceAll(draft, backup), { cause: error })
  }
}

function isEmpty(path: string): boolean {
  return withLock(path, (db, at, wasInUse) => {
    const version = versionOf(db)
    closeAsFound(db, at, wasInUse)
    return version === 0
  })
}

/** Never replaces a file, not even one that was created at this moment. */
function renameToNew(draft: string, file: string): void {
  try {
    linkSync(draft, file)
  } catch (error) {
    // Some file systems that people use for backups have no links.
    if (existsSync(file)) throw error
    renameSync(draft, file)
  }
}

function checkWhole(path: string, name: string): DatabaseCounts {
  const findings: string[] = []
  const counts = checkDatabase(path, (finding) => findings.push(finding))
  const [first, ...more] = findings
  if (first === undefined) return counts
  const others = more.length > 0 ? `, and ${more.length} more findings` : ''
  throw new AskbackError('invalid_request', `${name} is damaged: ${first}${others}.`)
}

/** Throws if a process uses the database. Changes nothing, because the backup may turn out to be damaged. */
function checkUnused(path: string): void {
  try {
    withLock(path, closeAsFound)
  } catch (error) {
    // A database that cannot be opened for another reason may be replaced.
    if (error instanceof AskbackError && codeOf(error.cause) === 'SQLITE_BUSY') throw error
  }
}

function removeAll(path: string): void {
  rmSync(path, { force: true })
  removeSideFiles(path)
}

function removeSideFiles(path: string): void {
  for (const file of [journalFile(path), markFile(path), `${path}-journal`, `${path}-shm`])
    rmSync(file, { force: true })
}

function syncFile(path: string): void {
  const file = openSync(path, 'r+')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
