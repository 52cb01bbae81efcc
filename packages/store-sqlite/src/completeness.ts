import { AskbackError, type SessionEvent } from '@askback/protocol'
import { crc32 } from 'node:zlib'
import type { Connection } from './connection.js'
import { DAMAGE_REMEDY } from './failure.js'
import { journalFile } from './journal.js'
import { markFile, readMark, type Noted } from './mark.js'
import { stored } from './stored.js'

/** What a database says of itself. */
interface Standing extends Noted {
  /** False after a clean stop. */
  isInUse: boolean
}

/** What can be done about it. */
const REMEDY =
  'restore a backup with askback restore --replace, or accept the loss with askback doctor --accept-loss'

/** So many of the last appends are read at each start. */
const RECENT = 64

/** The database holds less than was acknowledged, or something else. */
export class IncompleteError extends AskbackError {
  constructor(message: string) {
    super('unavailable', message)
  }
}

export function standing(db: Connection): Standing {
  const rows = new Map(db.all<[Buffer, number]>('SELECT CAST(key AS BLOB), value FROM meta')().map(named))
  const [newest] = db.get<[number]>('SELECT coalesce(max(pos), 0) FROM log')()!
  return {
    id: rows.get('id')!,
    latest: Math.max(rows.get('latest')!, newest),
    isInUse: rows.get('in_use') === 1,
  }
}

/** Why a database may hold less than was acknowledged, in one sentence with what to do; `null` if it is whole. */
export function lossOf(db: Connection, path: string): string | null {
  const { id, latest, isInUse } = standing(db)
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

/** Where there is no database, or an empty one, and a mark of the one that was there. */
export function databaseIsGone(path: string): string {
  return `The database ${path} is gone, though ${markFile(path)} says that it was in use: put it back with its journal, ${REMEDY}.`
}

/** Reads the last appends, which are those that a crash or a bad copy damages first. */
export function checkRecent(db: Connection, path: string): void {
  const rows = db.all<LogRow>(
    // The plus keeps the engine from going through every session and sorting all of their rows.
    `SELECT ${LOG_ROW} FROM log WHERE +session IN (SELECT key FROM sessions) ORDER BY pos DESC LIMIT ?`,
  )(RECENT)
  const nameOf = db.get<[Buffer]>('SELECT CAST(id AS BLOB) FROM sessions WHERE key = ?')
  const follows = db.get<[number]>('SELECT 1 FROM log WHERE session = ? AND last_seq = ?')
  for (const row of rows) {
    const [, session, firstSeq] = row
    const name = nameOf(session)![0].toString()
    const problem =
      problemIn(row, name) ??
      (firstSeq > 1 && !follows(session, firstSeq - 1) ? gapBefore(firstSeq, name) : null)
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

/** What is wrong with an append by itself; `null` if nothing is. Older versions wrote no checksum. */
export function problemIn([, , firstSeq, lastSeq, sum, body]: LogRow, sessionId: string): string | null {
  if (sum !== null && crc32(body) !== sum)
    return `an append of the session ${sessionId} does not match its checksum (seq ${firstSeq} to ${lastSeq})`
  let events: SessionEvent[]
  try {
    events = stored<SessionEvent[]>(body)
  } catch {
    return `an append of the session ${sessionId} is not JSON (seq ${firstSeq} to ${lastSeq})`
  }
  const isWhole =
    Array.isArray(events) &&
    events.length === lastSeq - firstSeq + 1 &&
    events.every((event, index) => event.seq === firstSeq + index && event.sessionId === sessionId)
  return isWhole ? null : `an append of the session ${sessionId} does not hold seq ${firstSeq} to ${lastSeq}`
}

export function gapBefore(seq: number, sessionId: string): string {
  return `the log of the session ${sessionId} has a gap before seq ${seq}`
}

function named([key, value]: [Buffer, number]): [string, number] {
  return [key.toString(), value]
}
