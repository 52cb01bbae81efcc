import {
  auditRows,
  pendingChanges,
  sessionChange,
  sessionInfo,
  splitMessage,
  type Append,
  type AppendResult,
} from '@askback/core'
import type { SessionEvent, AuditRow } from '@askback/protocol'
import { crc32 } from 'node:zlib'
import type { Connection } from './connection.js'
import type { Kv } from './kv.js'
import type { Places } from './places.js'

export interface Head {
  /** The session's number in every table. */
  key: number
  seq: number
}

export interface LogWriter {
  head(sessionId: string): Head | undefined
  /** Inside a transaction. `body` is the events as JSON. */
  append(append: Append, body: string): AppendResult
  /** The place of the last row that was written to the log since a rollback, or 0. */
  lastPlace(): number
  /** Inside a transaction: rows that follow from no event. */
  addAudit(rows: AuditRow[]): void
  forget(sessionId?: string): void
}

/** This process is the only writer, so the heads that it remembers are true until a rollback. */
export function logWriter(db: Connection, places: Places, kv: Kv): LogWriter {
  const heads = new Map<string, Head>()
  let lastPlace = 0
  const findHead = db.get<[number, number]>(
    'SELECT key, (SELECT max(last_seq) FROM log WHERE session = key) FROM sessions WHERE id = ?',
  )
  const insertLog = db.run(
    'INSERT INTO log (pos, session, first_seq, last_seq, sum, body) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const insertSession = db.run(
    'INSERT INTO sessions (key, id, info, status, permission_mode, updated_at) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const updateSession = db.run('UPDATE sessions SET updated_at = ? WHERE key = ?')
  const updateStatus = db.run(
    'UPDATE sessions SET updated_at = ?, status = ?, permission_mode = ? WHERE key = ?',
  )
  const insertAudit = db.run('INSERT INTO audit (place, body, message) VALUES (?, ?, ?)')
  const index = eventIndex(db, (place, rows) => {
    for (const [offset, each] of rows.entries()) {
      const { row, message } = splitMessage(each)
      // The first row has the place of its event, so that erasing a log finds the messages that belong to it.
      insertAudit(
        offset === 0 ? place : places.take(1),
        JSON.stringify(row),
        message === null ? null : JSON.stringify(message),
      )
    }
  })

  function head(sessionId: string): Head | undefined {
    const known = heads.get(sessionId)
    if (known) return known
    const row = findHead(sessionId)
    if (!row) return undefined
    const found = { key: row[0], seq: row[1] }
    heads.set(sessionId, found)
    return found
  }

  function begin(sessionId: string, events: SessionEvent[]): Head {
    const created = { key: places.take(1), seq: 0 }
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
      if (fence && !kv.isOf(fence)) return { ok: false, conflict: 'fence' }
      if (!kv.allows(writes)) return { ok: false, conflict: 'kv' }
      const session = known ?? begin(sessionId, events)
      const pos = places.take(events.length)
      session.seq += events.length
      lastPlace = pos
      insertLog(pos, session.key, expectedSeq + 1, session.seq, crc32(body), body)
      const pending = pendingChanges(events)
      for (const [offset, event] of events.entries()) index(session.key, pos + offset, event, events, pending)
      touch(session.key, events)
      for (const { key, value } of writes) kv.write(key, value)
      return { ok: true }
    },
    lastPlace: () => lastPlace,
    addAudit(rows) {
      for (const row of rows) insertAudit(places.take(1), JSON.stringify(row), null)
    },
    forget(sessionId) {
      if (sessionId !== undefined) {
        heads.delete(sessionId)
        return
      }
      heads.clear()
      // The row is gone: as the witness of a later transaction it would claim a loss that there was not.
      lastPlace = 0
    },
  }
}

type Index = (
  session: number,
  place: number,
  event: SessionEvent,
  appended: SessionEvent[],
  pending: ReadonlyMap<string, boolean>,
) => void

function eventIndex(db: Connection, audit: (place: number, rows: AuditRow[]) => void): Index {
  const callTool = db.run('INSERT OR IGNORE INTO tool_calls (session, id) VALUES (?, ?)')
  const endTool = db.run('UPDATE tool_calls SET ended = 1 WHERE session = ? AND id = ?')
  const open = db.run(
    'INSERT OR REPLACE INTO interactions (id, session, tool_call_id, request, expires_at, pending) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const progress = db.run('UPDATE interactions SET progress = ? WHERE id = ?')
  const settle = db.run(
    'UPDATE interactions SET response = ?, delivered = ?, pending = ifnull(?, pending) WHERE id = ?',
  )
  const close = db.run('UPDATE interactions SET pending = 0 WHERE id = ?')
  const deliver = db.run('UPDATE interactions SET delivered = 1 WHERE id = ?')

  return (session, place, event, appended, pending) => {
    audit(place, auditRows(event))
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
          place,
          event.expiresAt ?? null,
          pending.get(event.interactionId) ? 1 : 0,
        )
        break
      case 'interaction_pending':
        // Where the append has the request or the response, that statement writes it.
        if (!event.pending && !has(appended, 'interaction_response', event.interactionId))
          close(event.interactionId)
        break
      case 'interaction_progress':
        progress(place, event.interactionId)
        break
      case 'interaction_response': {
        const { interactionId } = event
        const isPending = pending.get(interactionId)
        settle(
          place,
          has(appended, 'interaction_delivered', interactionId) ? 1 : 0,
          isPending === undefined ? null : Number(isPending),
          interactionId,
        )
        break
      }
      case 'interaction_delivered':
        // Most are claimed in the append that settles them, which has noted it.
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
