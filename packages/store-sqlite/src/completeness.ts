import { AskbackError, type SessionEvent } from '@askback/protocol'
import { crc32 } from 'node:zlib'
import { parseStored, type Connection } from './connection.js'
import { DAMAGE_REMEDY } from './failure.js'
import { journalFile } from './journal.js'
import { markFile, readMark, type MarkContent } from './mark.js'

/*
 * Whether a database has everything that was acknowledged. Files can be lost, copied while in use, or replaced by older ones. A
 * start compares the database with its mark (see `mark.ts`), and fails rather than continue with less than was acknowledged.
 */

/** What a database records about itself. */
interface DatabaseStatus extends MarkContent {
  /** False after a clean stop. */
  isInUse: boolean
}

/** What a person can do about a loss. */
const REMEDY =
  'restore a backup with askback restore --replace, or accept the loss with askback doctor --accept-loss'

/** How many of the last appends are read at each start. */
const RECENT_APPENDS = 64

/** The database lacks something that was acknowledged, or is damaged. */
export class IncompleteError extends AskbackError {
  constructor(message: string) {
    super('unavailable', message)
  }
}

export function statusOf(db: Connection): DatabaseStatus {
  const rows = new Map(
    db
      .all<[Buffer, number]>('SELECT CAST(key AS BLOB), value FROM meta')()
      .map(([key, value]) => [key.toString(), value]),
  )
  const [newest] = db.get<[number]>('SELECT coalesce(max(pos), 0) FROM log')()!
  return {
    id: rows.get('id')!,
    latest: Math.max(rows.get('latest')!, newest),
    isInUse: rows.get('in_use') === 1,
  }
}

/** Returns a sentence that says why acknowledged writes may be missing and what to do, or `null` if none is. */
export function lossOf(db: Connection, path: string): string | null {
  const { id, latest, isInUse } = statusOf(db)
  const mark = readMark(path)
  if (mark === null || mark === 'unreadable') {
    const lost = mark === null ? 'was lost' : 'is damaged'
    return isInUse
      ? `The database ${path} was copied while it was in use, or its file ${markFile(path)} ${lost}, so it may lack what was acknowledged: put the files askback.db, askback.db-wal and askback.db-mark there together, ${REMEDY}.`
      : null
  }
  if (mark.id !== id)
    return `The database ${path} was put in the place of another, which was in use: put that one back, ${REMEDY}.`
  if (latest >= mark.latest) return null
  return `The database ${path} lacks writes that were acknowledged: its journal ${journalFile(path)} is missing, cut or damaged. Put the journal back as it was, ${REMEDY}.`
}

/** The message for a mark without a database, or with an empty one. */
export function missingDatabase(path: string): string {
  return `The database ${path} is gone, though ${markFile(path)} says that it was in use: put it back with its journal, ${REMEDY}.`
}

/** Checks the last appends, because a crash or a bad copy damages these first. */
export function checkRecent(db: Connection, path: string): void {
  const rows = db.all<LogRow>(
    // The plus prevents a plan that reads every session and sorts all of its rows.
    `SELECT ${LOG_ROW} FROM log WHERE +session IN (SELECT key FROM sessions) ORDER BY pos DESC LIMIT ?`,
  )(RECENT_APPENDS)
  const findId = db.get<[Buffer]>('SELECT CAST(id AS BLOB) FROM sessions WHERE key = ?')
  const findPrevious = db.get<[number]>('SELECT 1 FROM log WHERE session = ? AND last_seq = ?')
  for (const row of rows) {
    const [, session, firstSeq] = row
    const name = findId(session)![0].toString()
    const problem =
      problemIn(row, name) ??
      (firstSeq > 1 && !findPrevious(session, firstSeq - 1) ? gapBefore(firstSeq, name) : null)
    if (problem) throw new IncompleteError(`The database ${path} is damaged: ${problem}; ${DAMAGE_REMEDY}.`)
  }
}

export type LogRow = [
  pos: number,
  session: number,
  firstSeq: number,
  lastSeq: number,
  sum: number | null,
  body: Buffer,
]
export const LOG_ROW = 'pos, session, first_seq, last_seq, sum, CAST(body AS BLOB)'

/** Returns what is wrong with an append, or `null`. Appends of older versions have no checksum. */
export function problemIn([, , firstSeq, lastSeq, sum, body]: LogRow, sessionId: string): string | null {
  if (sum !== null && crc32(body) !== sum)
    return `an append of the session ${sessionId} does not match its checksum (seq ${firstSeq} to ${lastSeq})`
  let events: SessionEvent[]
  try {
    events = parseStored<SessionEvent[]>(body)
  } catch {
    return `an append of the session ${sessionId} is not JSON (seq ${firstSeq} to ${lastSeq})`
  }
  const isComplete =
    Array.isArray(events) &&
    events.length === lastSeq - firstSeq + 1 &&
    events.every((event, index) => event.seq === firstSeq + index && event.sessionId === sessionId)
  return isComplete
    ? null
    : `an append of the session ${sessionId} does not hold seq ${firstSeq} to ${lastSeq}`
}

export function gapBefore(seq: number, sessionId: string): string {
  return `the log of the session ${sessionId} has a gap before seq ${seq}`
}
