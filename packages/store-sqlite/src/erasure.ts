import type { Connection } from './connection.js'

export interface Erasure {
  /** Inside a transaction: from here on nobody can read the session. */
  hide(session: number): void
  /** Inside a transaction: removes some of what a hidden session left. True when nothing is left. */
  purge(session: number): boolean
  /** Those that a crash or a close left unfinished. */
  unfinished(): number[]
  /** After a rollback. */
  forget(): void
}

/** Small enough that writers in between wait for milliseconds. */
const ROWS_AT_ONCE = 200

export function erasure(db: Connection): Erasure {
  const removeSession = db.run('DELETE FROM sessions WHERE key = ?')
  const removeSnapshot = db.run('DELETE FROM snapshots WHERE session = ?')
  const remember = db.run('INSERT INTO erased (session) VALUES (?)')
  const finish = db.run('DELETE FROM erased WHERE session = ?')
  const findErased = db.all<[number]>('SELECT session FROM erased')
  const findRows = db.all<[number, number]>(
    'SELECT pos, pos + last_seq - first_seq FROM log WHERE session = ? ORDER BY last_seq LIMIT ?',
  )
  const findNext = db.all<[number, number]>(
    'SELECT pos, last_seq FROM log WHERE session = ? AND last_seq > ? ORDER BY last_seq LIMIT ?',
  )
  const blank = db.run(
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
  /** How far each log is blank. After a restart it is done again from the beginning. */
  const blankUntil = new Map<number, number>()

  /**
   * A row of the same length is written in its place. Removing rows moves others between pages, and leaves copies of them
   * that no secure deletion finds: so nothing is removed before all of the log is blank.
   */
  function blankSome(session: number): boolean {
    const rows = findNext(session, blankUntil.get(session) ?? 0, ROWS_AT_ONCE)
    for (const [pos, lastSeq] of rows) {
      blank(pos)
      blankUntil.set(session, lastSeq)
    }
    return rows.length > 0
  }

  return {
    hide(session) {
      removeSession(session)
      removeSnapshot(session)
      remember(session)
    },
    purge(session) {
      if (blankSome(session)) return false
      const rows = findRows(session, ROWS_AT_ONCE)
      for (const [first, last] of rows) {
        removeMessages(first, last)
        removeRow(first)
      }
      const others = removeInteractions(session, ROWS_AT_ONCE) + removeToolCalls(session, ROWS_AT_ONCE)
      if (rows.length + others > 0) return false
      finish(session)
      blankUntil.delete(session)
      return true
    },
    forget: () => blankUntil.clear(),
    unfinished: () => findErased().map(([session]) => session),
  }
}
