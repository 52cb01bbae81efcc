import { AskbackError } from '@askback/protocol'

/** What can be done about a damaged database. */
export const DAMAGE_REMEDY =
  'find out more with askback doctor --deep, or restore a backup with askback restore --replace'

export type Outcome = 'not_written' | 'unknown'

/** One sentence that says what is wrong with the database and, for a write, whether it can have happened. */
export function failure(error: unknown, path: string, outcome?: Outcome): AskbackError {
  if (error instanceof AskbackError) return error
  const because = isFailedSync(error)
    ? NOT_SYNCED
    : (reasons[codeOf(error)] ?? `failed: ${error instanceof Error ? error.message : String(error)}`)
  const after = outcome ? ` ${outcomes[outcome]}` : ''
  return new AskbackError('unavailable', `The database ${path} ${because}.${after}`, {
    cause: error,
    ...(outcome && { details: { outcome } }),
  })
}

/**
 * After one nobody knows what the disk holds, and trying again may succeed without having written a thing: the system
 * forgets what it could not write.
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

const outcomes: Record<Outcome, string> = {
  not_written: 'Nothing was written.',
  unknown: 'Whether this write survives is not known.',
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
