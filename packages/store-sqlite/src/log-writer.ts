import type { Append, AppendResult } from '@askback/core'
import { auditRows, pendingChanges, sessionChange, sessionInfo, splitMessage } from '@askback/core/store'
import type { SessionEvent, AuditRow } from '@askback/protocol'
import { crc32 } from 'node:zlib'
import type { Connection } from './connection.js'
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
  /** Inside a transaction. `body` is the JSON of the events. */
  append(append: Append, body: string): AppendResult
  /** The position of the last row that was written to the log since the last rollback, or 0. */
  lastPosition(): number
  /** Inside a transaction. Adds rows that belong to no event. */
  addAudit(rows: AuditRow[]): void
  /** To be called after an erasure of the session, or without an argument after a rollback. */
  forget(sessionId?: string): void
}

/** This process is the only writer, so the heads in its cache are valid until a rollback. */
export function logWriter(db: Connection, sequence: Sequence, kv: KvTable): LogWriter {
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
  const updateSession = db.write('UPDATE sessions SET updated_at = ? WHERE key = ?')
  const updateStatus = db.write(
    'UPDATE sessions SET updated_at = ?, status = ?, permission_mode = ? WHERE key = ?',
  )
  const insertAudit = db.write('INSERT INTO audit (place, body, message) VALUES (?, ?, ?)')
  const index = eventIndex(db, (position, rows) => {
    for (const [offset, each] of rows.entries()) {
      const { row, message } = splitMessage(each)
      // The first row has the position of its event, by which an erasure finds the messages of a log.
      insertAudit(
        offset === 0 ? position : sequence.take(1),
        JSON.stringify(row),
        message === null ? null : JSON.stringify(message),
      )
    }
  })

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

  function touch(key: number, events: SessionEvent[]): void {
    const { updatedAt, status, permissionMode } = sessionChange(events)
    if (status === undefined || permissionMode === undefined) updateSession(updatedAt, key)
    else updateStatus(updatedAt, status, permissionMode, key)
  }

  return {
    head,
    append({ sessionId, expectedSeq, events, kv: writes = [], fence }, body) {
      const known = head(sessionId)
      if ((known?.seq ?? 0) !== expectedSeq) return { ok: false, conflict: 'seq' }
      if (fence && !kv.isCurrent(fence)) return { ok: false, conflict: 'fence' }
      if (!kv.allows(writes)) return { ok: false, conflict: 'kv' }
      const session = known ?? begin(sessionId, events)
      const pos = sequence.take(events.length)
      session.seq += events.length
      lastPosition = pos
      insertLog(pos, session.key, expectedSeq + 1, session.seq, crc32(body), body)
      const pending = pendingChanges(events)
      for (const [offset, event] of events.entries()) index(session.key, pos + offset, event, events, pending)
      touch(session.key, events)
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

/** Updates the indexes for one event of an append. */
type IndexEvent = (
  session: number,
  position: number,
  event: SessionEvent,
  appended: SessionEvent[],
  pending: ReadonlyMap<string, boolean>,
) => void

function eventIndex(db: Connection, audit: (position: number, rows: AuditRow[]) => void): IndexEvent {
  const callTool = db.write('INSERT OR IGNORE INTO tool_calls (session, id) VALUES (?, ?)')
  const endTool = db.write('UPDATE tool_calls SET ended = 1 WHERE session = ? AND id = ?')
  const open = db.write(
    'INSERT OR REPLACE INTO interactions (id, session, tool_call_id, request, expires_at, pending) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const progress = db.write('UPDATE interactions SET progress = ? WHERE id = ?')
  const settle = db.write(
    'UPDATE interactions SET response = ?, delivered = ?, pending = ifnull(?, pending) WHERE id = ?',
  )
  const close = db.write('UPDATE interactions SET pending = 0 WHERE id = ?')
  const deliver = db.write('UPDATE interactions SET delivered = 1 WHERE id = ?')

  return (session, position, event, appended, pending) => {
    audit(position, auditRows(event))
    switch (event.type) {
      case 'tool_call':
        callTool(session, event.toolCallId)
        break
      case 'tool_result':
        endTool(session, event.toolCallId)
        break
      case 'interaction_request':
        open(
          event.interactionId,
          session,
          event.toolCallId,
          position,
          event.expiresAt ?? null,
          pending.get(event.interactionId) ? 1 : 0,
        )
        break
      case 'interaction_pending':
        // If the append also has the request or the response, the statement for that one writes it.
        if (!event.pending && !has(appended, 'interaction_response', event.interactionId))
          close(event.interactionId)
        break
      case 'interaction_progress':
        progress(position, event.interactionId)
        break
      case 'interaction_response': {
        const { interactionId } = event
        const isPending = pending.get(interactionId)
        settle(
          position,
          has(appended, 'interaction_delivered', interactionId) ? 1 : 0,
          isPending === undefined ? null : Number(isPending),
          interactionId,
        )
        break
      }
      case 'interaction_delivered':
        // Most are claimed in the append that settles them, whose statement has written it.
        if (!has(appended, 'interaction_response', event.interactionId)) deliver(event.interactionId)
        break
      default:
    }
  }
}

function has(
  events: SessionEvent[],
  type: 'interaction_response' | 'interaction_delivered',
  interactionId: string,
): boolean {
  return events.some((event) => event.type === type && event.interactionId === interactionId)
}
