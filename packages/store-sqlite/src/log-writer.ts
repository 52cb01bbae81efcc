import type { Append, AppendResult } from '@askback/core'
import { auditRows, sessionInfo } from '@askback/core/store'
import type { SessionEvent, AuditRow } from '@askback/protocol'
import { crc32 } from 'node:zlib'
import type { Connection } from './connection.js'
import { positionsOf, type DerivedTables } from './derived-tables.js'
import type { KvTable } from './kv.js'
import type { Sequence } from './sequence.js'

/** The end of a session's log. */
export interface SessionHead {
  /** The number of the session in every table. */
  key: number
  seq: number
}

export interface LogWriter {
  head(sessionId: string): SessionHead | undefined
  /** Inside a transaction. `body` is the JSON of the events. What follows from them is written later, by `DerivedTables`. */
  append(append: Append, body: string): AppendResult
  /** The position of the last row that was written to the log since the last rollback, or 0. */
  lastPosition(): number
  /** Inside a transaction. Adds rows that belong to no event. */
  addAudit(rows: AuditRow[]): void
  /** To be called after an erasure of the session, or without an argument after a rollback. */
  forget(sessionId?: string): void
}

/** This process is the only writer, so the heads in its cache are valid until a rollback. */
export function logWriter(
  db: Connection,
  sequence: Sequence,
  kv: KvTable,
  derived: DerivedTables,
): LogWriter {
  const heads = new Map<string, SessionHead>()
  let lastPosition = 0
  const findHead = db.get<[number, number]>(
    'SELECT key, (SELECT max(last_seq) FROM log WHERE session = key) FROM sessions WHERE id = ?',
  )
  const insertLog = db.write(
    'INSERT INTO log (pos, session, first_seq, last_seq, sum, body) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const insertSession = db.write(
    'INSERT INTO sessions (key, id, info, status, permission_mode, updated_at) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const insertAudit = db.write('INSERT INTO audit (place, body, message) VALUES (?, ?, ?)')

  function head(sessionId: string): SessionHead | undefined {
    const known = heads.get(sessionId)
    if (known) return known
    const row = findHead(sessionId)
    if (!row) return undefined
    const found = { key: row[0], seq: row[1] }
    heads.set(sessionId, found)
    return found
  }

  function begin(sessionId: string, events: SessionEvent[]): SessionHead {
    const created = { key: sequence.take(1), seq: 0 }
    insertSession(created.key, sessionId, JSON.stringify(sessionInfo(events)), 'idle', 'default', 0)
    heads.set(sessionId, created)
    return created
  }

  return {
    head,
    append({ sessionId, expectedSeq, events, kv: writes = [], fence }, body) {
      const known = head(sessionId)
      if ((known?.seq ?? 0) !== expectedSeq) return { ok: false, conflict: 'seq' }
      if (fence && !kv.isCurrent(fence)) return { ok: false, conflict: 'fence' }
      if (!kv.allows(writes)) return { ok: false, conflict: 'kv' }
      const session = known ?? begin(sessionId, events)
      const audit = events.map(auditRows)
      const pos = sequence.take(positionsOf(audit))
      session.seq += events.length
      lastPosition = pos
      insertLog(pos, session.key, expectedSeq + 1, session.seq, crc32(body), body)
      derived.add({ session: session.key, position: pos, events, audit, bytes: body.length })
      for (const { key, value } of writes) kv.write(key, value)
      return { ok: true }
    },
    lastPosition: () => lastPosition,
    addAudit(rows) {
      for (const row of rows) insertAudit(sequence.take(1), JSON.stringify(row), null)
    },
    forget(sessionId) {
      if (sessionId !== undefined) {
        heads.delete(sessionId)
        return
      }
      heads.clear()
      // The row was rolled back. As the position of a later transaction it would make a later start report a loss.
      lastPosition = 0
    },
  }
}
