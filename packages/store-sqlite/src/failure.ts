import { storeFailure, type WriteOutcome } from '@askback/core/store'
import { errorMessage, type AskbackError } from '@askback/protocol'

/** What a person can do about a damaged database. */
export const DAMAGE_REMEDY =
  'find out more with askback doctor --deep, or restore a backup with askback restore --replace'

/** Makes an error for people out of one of the engine or the operating system. */
export function failure(error: unknown, path: string, outcome?: WriteOutcome): AskbackError {
  return storeFailure(error, path, reasonOf, outcome)
}

function reasonOf(error: unknown): string {
  if (isFailedSync(error)) return NOT_SYNCED
  return reasons[codeOf(error)] ?? `failed: ${errorMessage(error)}`
}

/**
 * Whether a sync failed. Afterwards it is not known what the disk contains, and a second sync may succeed although nothing was
 * written, because the operating system discards pages that it could not write.
 */
export function isFailedSync(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^SQLITE_IOERR_(DIR_)?FSYNC$/.test(String(error.code))
}

const NOT_SYNCED =
  'could not be synced to the disk, so nothing more is written to it: check the disk, then start Askback again'

/** The primary result code of SQLite or the code of the operating system. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
  return code.split('_', 2).join('_')
}

const reasons: Record<string, string> = {
  SQLITE_FULL: 'cannot grow: the disk is full',
  SQLITE_IOERR: 'could not be read or written: the disk reported an error',
  SQLITE_CORRUPT: `is damaged: ${DAMAGE_REMEDY}`,
  SQLITE_NOTADB: 'is not an Askback database',
  SQLITE_READONLY: 'is read-only',
  SQLITE_CANTOPEN: 'cannot be opened: its folder or one of its files refuses it',
  SQLITE_PERM: 'may not be used by this user',
  SQLITE_AUTH: 'may not be used by this user',
  SQLITE_NOMEM: 'needs more memory than there is',
  EROFS: 'is on a read-only file system',
  EACCES: 'may not be used by this user',
  EPERM: 'may not be used by this user',
  ENOSPC: 'cannot be made: the disk is full',
  EISDIR: 'is a folder',
}
