import { AskbackError } from '@askback/protocol'
import Database from 'libsql'
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
import { codeOf } from './failure.js'
import { hasJournal, journalFile } from './journal.js'
import { markFile, syncFolder } from './mark.js'
import { RANDOM_ID, versionOf } from './migrations.js'
import { leaveAsItWas, locked, openDatabase } from './open.js'

/**
 * Makes a backup of what a store handed out by `copy`: a database that stands by itself, checked as a whole and synced
 * before it gets its name. Whatever fails before removes the draft.
 */
export function finishBackup(
  draft: string,
  file: string,
  { replace = false }: { replace?: boolean } = {},
): DatabaseCounts {
  try {
    sealCopy(draft)
    const counts = checked(draft, 'The copy')
    if (replace) renameSync(draft, file)
    else nameAnew(draft, file)
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
 * As after a clean stop. It gets an id of its own: what is written to it later is not what its original was marked for.
 */
export function sealCopy(path: string): void {
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
 * Puts a backup in the place of a database that nobody uses. The backup is copied beside that place, checked there as a
 * whole, and renamed: whatever fails before leaves what was there.
 */
export function restoreDatabase(
  backup: string,
  path: string,
  { replace = false }: { replace?: boolean } = {},
): DatabaseCounts {
  // What is no file may have no end.
  if (!statSync(backup, { throwIfNoEntry: false })?.isFile())
    throw new AskbackError('invalid_request', `There is no file ${backup}.`)
  if (hasJournal(backup)) {
    throw new AskbackError(
      'invalid_request',
      `The file ${backup} is no backup: it has a journal, ${journalFile(backup)}, beside it. Make one with askback backup.`,
    )
  }
  const isThere = [path, journalFile(path), markFile(path)].some((file) => existsSync(file))
  if (isThere && !replace) {
    throw new AskbackError(
      'invalid_request',
      `There is data in ${path} already: name another folder with --data, or give --replace to lose what is there.`,
    )
  }
  if (isThere) checkUnused(path)
  const draft = `${path}.restoring`
  try {
    const counts = prepare(backup, draft)
    // That took its time.
    if (isThere) checkUnused(path)
    // First: a journal that stayed would be applied to whatever comes in its place. Cut off in between, what was there is
    // refused by the next start unless it is whole.
    removeBeside(path)
    renameSync(draft, path)
    syncFolder(path)
    return counts
  } catch (error) {
    removeAll(draft)
    throw error
  }
}

/** Checked, brought to this version, and synced. */
function prepare(backup: string, draft: string): DatabaseCounts {
  removeAll(draft)
  copyFileSync(backup, draft)
  chmodSync(draft, 0o600)
  try {
    // An empty file would become an empty database, in the place of what was there.
    if (isBlank(draft))
      throw new AskbackError('invalid_request', `The file ${draft} is no backup: there is nothing in it.`)
    openDatabase(draft).close()
    sealCopy(draft)
    return checked(draft, `The backup ${backup}`)
  } catch (error) {
    if (!(error instanceof AskbackError)) throw error
    // It is the backup that this is about, not our copy of it.
    throw new AskbackError(error.code, error.message.replaceAll(draft, backup), { cause: error })
  }
}

function isBlank(path: string): boolean {
  return locked(path, (db, at, wasInUse) => {
    const version = versionOf(db)
    leaveAsItWas(db, at, wasInUse)
    return version === 0
  })
}

/** Never over a file that is there, nor one that has just come. */
function nameAnew(draft: string, file: string): void {
  try {
    linkSync(draft, file)
  } catch (error) {
    // Many a file system that backups go to has no links.
    if (existsSync(file)) throw error
    renameSync(draft, file)
  }
}

function checked(path: string, name: string): DatabaseCounts {
  const findings: string[] = []
  const counts = checkDatabase(path, (finding) => findings.push(finding))
  const [first, ...more] = findings
  if (first === undefined) return counts
  const others = more.length > 0 ? `, and ${more.length} more findings` : ''
  throw new AskbackError('invalid_request', `${name} is damaged: ${first}${others}.`)
}

/** That no process has it. It stays as it is, with whatever tells of a loss: the backup may turn out to be none. */
function checkUnused(path: string): void {
  try {
    locked(path, leaveAsItWas)
  } catch (error) {
    // One that cannot be opened otherwise is no loss.
    if (error instanceof AskbackError && codeOf(error.cause) === 'SQLITE_BUSY') throw error
  }
}

function removeAll(path: string): void {
  rmSync(path, { force: true })
  removeBeside(path)
}

function removeBeside(path: string): void {
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
