import type { Connection } from './connection.js'

/*
 * Erases a session so that none of its text is left on the disk, in small transactions between which others can write:
 *
 *   hide (one transaction) -> overwrite the log with zeros -> delete its rows -> truncate the journal -> shrink the file
 *
 * A crash in between is noticed by the table `erased`, and the next start continues. The journal is truncated by the store.
 */

export interface Erasure {
  /** Inside a transaction. Nobody can read the session afterwards. */
  hide(session: number): void
  /** Inside a transaction. Erases a part of a hidden session. Returns true when nothing is left. */
  purge(session: number): boolean
  /** Sessions whose erasure was interrupted by a crash or a close. */
  unfinished(): number[]
  /** To be called after a rollback. */
  forget(): void
}

/** Few enough that writers in between wait only for milliseconds. */
const ROWS_PER_TRANSACTION = 200

export function erasure(db: Connection): Erasure {
  const removeSession = db.run('DELETE FROM sessions WHERE key = ?')
  const removeSnapshot = db.run('DELETE FROM snapshots WHERE session = ?')
  const insertErased = db.run('INSERT INTO erased (session) VALUES (?)')
  const deleteErased = db.run('DELETE FROM erased WHERE session = ?')
  const findErased = db.all<[number]>('SELECT session FROM erased')
  const findRows = db.all<[number, number]>(
    'SELECT pos, pos + last_seq - first_seq FROM log WHERE session = ? ORDER BY last_seq LIMIT ?',
  )
  const findNext = db.all<[number, number]>(
    'SELECT pos, last_seq FROM log WHERE session = ? AND last_seq > ? ORDER BY last_seq LIMIT ?',
  )
  const overwrite = db.run(
    'UPDATE log SET body = CAST(zeroblob(length(CAST(body AS BLOB))) AS TEXT) WHERE pos = ?',
  )
  const removeRow = db.run('DELETE FROM log WHERE pos = ?')
  const removeMessages = db.run('UPDATE audit SET message = NULL WHERE place BETWEEN ? AND ?')
  const removeInteractions = db.run(
    'DELETE FROM interactions WHERE id IN (SELECT id FROM interactions WHERE session = ? LIMIT ?)',
  )
  const removeToolCalls = db.run(
    'DELETE FROM tool_calls WHERE session = ?1 AND id IN (SELECT id FROM tool_calls WHERE session = ?1 LIMIT ?2)',
  )
  /** The last `seq` of each log that was overwritten. After a restart overwriting begins again. */
  const overwrittenUntil = new Map<number, number>()

  /**
   * Overwrites rows with zeros of the same length. Deleting a row moves others between pages and leaves copies of them that
   * `secure_delete` does not clear. So nothing is deleted before all of the log is overwritten.
   */
  function overwriteSome(session: number): boolean {
    const rows = findNext(session, overwrittenUntil.get(session) ?? 0, ROWS_PER_TRANSACTION)
    for (const [pos, lastSeq] of rows) {
      overwrite(pos)
      overwrittenUntil.set(session, lastSeq)
    }
    return rows.length > 0
  }

  return {
    hide(session) {
      removeSession(session)
      removeSnapshot(session)
      insertErased(session)
    },
    purge(session) {
      if (overwriteSome(session)) return false
      const rows = findRows(session, ROWS_PER_TRANSACTION)
      for (const [first, last] of rows) {
        removeMessages(first, last)
        removeRow(first)
      }
      const others =
        removeInteractions(session, ROWS_PER_TRANSACTION) + removeToolCalls(session, ROWS_PER_TRANSACTION)
      if (rows.length + others > 0) return false
      deleteErased(session)
      overwrittenUntil.delete(session)
      return true
    },
    forget: () => overwrittenUntil.clear(),
    unfinished: () => findErased().map(([session]) => session),
  }
}

/** The value of `PRAGMA auto_vacuum` with which free pages are given back on request. */
export const INCREMENTAL = 2
/** Half a megabyte, which takes a few milliseconds. */
const PAGES_PER_STEP = 128
/** Between two steps, so that most writes do not share their transaction with one. */
export const VACUUM_PAUSE_MS = 10

export interface Vacuum {
  /** How many pages are free and can be given back. */
  freePages(): number
  /** Inside a transaction. Moves pages from the end of the file into free ones, and shortens the file. */
  step(): void
}

export function vacuum(db: Connection): Vacuum {
  const countFree = db.get<[number]>('PRAGMA freelist_count')
  // It is not if an older version created the file and there was no space to rewrite it.
  const isIncremental = db.get<[number]>('PRAGMA auto_vacuum')()![0] === INCREMENTAL
  return {
    freePages: () => (isIncremental ? countFree()![0] : 0),
    step: () => db.exec(`PRAGMA incremental_vacuum(${PAGES_PER_STEP})`),
  }
}
