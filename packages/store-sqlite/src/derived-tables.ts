import {
  auditRows,
  indexedDeadline,
  interactionChanges,
  sessionChange,
  splitMessage,
} from '@askback/core/store'
import type { AuditRow, EventOf, SessionEvent } from '@askback/protocol'
import { parseStored, type Connection } from './connection.js'

/*
 * The tables that follow from the log: interactions, tool calls, the audit rows of events, and the status of sessions. An append
 * writes only its row of the log. What follows from it is written later, for many appends together, so that one statement does what
 * otherwise takes several (a request and its answer become one row, the last status of a session wins):
 *
 *   append committed -> waiting -> written: with a later transaction, before a read of these tables, before a checkpoint, or at close
 *
 * `meta.derived` is the position of the last append that is in these tables. A start after a crash continues from there.
 */

export interface DerivedTables {
  /** Inside the transaction that adds this append to the log. */
  add(append: LoggedAppend): void
  /** Inside a transaction. Writes everything that was added, also by this transaction. */
  write(): void
  /** Whether everything that was added is written. */
  isCurrent(): boolean
  /** Whether so much waits that the next transaction should write it. */
  isFull(): boolean
  /** To be called after each commit. */
  committed(): void
  /** To be called after each rollback. */
  forget(): void
}

export interface LoggedAppend {
  session: number
  /** That of the first event. */
  position: number
  events: readonly SessionEvent[]
  /** The rows of each event, as `auditRows` returns them. */
  audit: readonly (readonly AuditRow[])[]
  /** The length of the events as JSON. */
  bytes: number
}

/** How many positions an append takes: one for each event, and one for each audit row beyond the first of an event. */
export function positionsOf(audit: LoggedAppend['audit']): number {
  return audit.reduce((count, rows) => count + Math.max(rows.length, 1), 0)
}

/** What a batch changes in the row of one interaction. `null` leaves the column as it is. */
interface InteractionRowChange {
  opened: { session: number; position: number; request: EventOf<'interaction_request'> } | null
  progress: number | null
  response: number | null
  delivered: boolean
  pending: boolean | null
}

/** More in a batch saves little, and writing it takes a few milliseconds in which nothing else happens. */
const MAX_WAITING_APPENDS = 256
const MAX_WAITING_BYTES = 1024 * 1024
const APPENDS_PER_PAGE = 256

export function derivedTables(db: Connection): DerivedTables {
  let appends: LoggedAppend[] = []
  let bytes = 0
  /** How many of `appends` the open transaction has written. */
  let written = 0
  let hasWritten = false
  /**
   * After a failed commit it is not known whether its appends are in the log, so `appends` may be wrong: then everything is read
   * from the log.
   */
  let source: 'appends' | 'log' = 'appends'
  const writeBatch = batchWriter(db)
  const writeFromLog = logReplay(db, writeBatch)

  return {
    add(append) {
      appends.push(append)
      bytes += append.bytes
    },
    write() {
      if (source === 'log') writeFromLog()
      else if (appends.length > written) writeBatch(appends.slice(written))
      written = appends.length
      hasWritten = true
    },
    isCurrent: () => source === 'appends' && written === appends.length,
    isFull: () =>
      source === 'log' || appends.length - written >= MAX_WAITING_APPENDS || bytes >= MAX_WAITING_BYTES,
    committed() {
      if (!hasWritten) return
      appends = appends.slice(written)
      bytes = totalBytes(appends)
      written = 0
      hasWritten = false
      source = 'appends'
    },
    forget() {
      appends = []
      bytes = 0
      written = 0
      hasWritten = false
      source = 'log'
    },
  }
}

/** Writes what a crash left unwritten. */
export function completeDerivedTables(db: Connection): void {
  db.begin()
  logReplay(db, batchWriter(db))()
  db.commit()
}

/** Returns a function that writes everything that the tables lack, from the log, inside a transaction. */
function logReplay(db: Connection, writeBatch: (appends: readonly LoggedAppend[]) => void): () => void {
  const findNext = db.all<[number, number, Buffer]>(
    `SELECT session, pos, CAST(body AS BLOB) FROM log
     WHERE pos > (SELECT value FROM meta WHERE key = 'derived') ORDER BY pos LIMIT ?`,
  )
  return () => {
    for (let rows = findNext(APPENDS_PER_PAGE); rows.length > 0; rows = findNext(APPENDS_PER_PAGE))
      writeBatch(
        rows.map(([session, position, body]) => {
          const events = parseStored<SessionEvent[]>(body)
          return { session, position, events, audit: events.map(auditRows), bytes: body.length }
        }),
      )
  }
}

function totalBytes(appends: readonly LoggedAppend[]): number {
  return appends.reduce((sum, append) => sum + append.bytes, 0)
}

/** Returns a function that writes what follows from consecutive appends, which must not be empty, inside a transaction. */
function batchWriter(db: Connection): (appends: readonly LoggedAppend[]) => void {
  const updateSession = db.write(
    'UPDATE sessions SET updated_at = ?, status = ifnull(?, status), permission_mode = ifnull(?, permission_mode) WHERE key = ?',
  )
  const openTool = db.write('INSERT OR IGNORE INTO tool_calls (session, id) VALUES (?, ?)')
  const endTool = db.write('UPDATE tool_calls SET ended = 1 WHERE session = ? AND id = ?')
  const openInteraction = db.write(
    `INSERT OR REPLACE INTO interactions
       (id, session, tool_call_id, request, progress, response, delivered, pending, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const updateInteraction = db.write(
    `UPDATE interactions SET progress = ifnull(?, progress), response = ifnull(?, response),
       delivered = max(delivered, ?), pending = ifnull(?, pending) WHERE id = ?`,
  )
  // One statement for all rows. IGNORE, because a commit that seemed to fail may have written them. The texts are JSON themselves, so
  // they have no NUL character, at which SQLite would cut them.
  const insertAudit = db.write(
    `INSERT OR IGNORE INTO audit (place, body, message)
     SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?)`,
  )
  const setDerived = db.write("UPDATE meta SET value = ? WHERE key = 'derived'")

  return (appends) => {
    const sessions = new Map<number, ReturnType<typeof sessionChange>>()
    const interactions = new Map<string, InteractionRowChange>()
    const audit: [place: number, body: string, message: string | null][] = []

    /** Adds the changes of one append to those of the batch. */
    const addInteractions = ({ session, position, events }: LoggedAppend): void => {
      for (const [id, { request, progress, response, delivered, pending }] of interactionChanges(events)) {
        const event = request === null ? null : events[request]
        const opened =
          request !== null && event?.type === 'interaction_request'
            ? { session, position: position + request, request: event }
            : null
        const before = opened ? undefined : interactions.get(id)
        interactions.set(id, {
          opened: opened ?? before?.opened ?? null,
          progress: progress === null ? (before?.progress ?? null) : position + progress,
          response: response === null ? (before?.response ?? null) : position + response,
          delivered: delivered || (before?.delivered ?? false),
          pending: pending ?? before?.pending ?? null,
        })
      }
    }

    const addAudit = ({ position, events, audit: rowsByEvent }: LoggedAppend): void => {
      let next = position + events.length
      for (const [index, rows] of rowsByEvent.entries()) {
        for (const [offset, each] of rows.entries()) {
          const { row, message } = splitMessage(each)
          // The first row has the position of its event, by which an erasure finds the messages of a log.
          const place = offset === 0 ? position + index : next++
          audit.push([place, JSON.stringify(row), message === null ? null : JSON.stringify(message)])
        }
      }
    }

    for (const append of appends) {
      const { session, events } = append
      addAudit(append)
      addInteractions(append)
      for (const event of events) {
        if (event.type === 'tool_call') openTool(session, event.toolCallId)
        else if (event.type === 'tool_result') endTool(session, event.toolCallId)
      }
      sessions.set(session, { ...sessions.get(session), ...sessionChange(events) })
    }

    for (const [id, { opened, progress, response, delivered, pending }] of interactions) {
      if (opened)
        openInteraction(
          id,
          opened.session,
          opened.request.toolCallId,
          opened.position,
          progress,
          response,
          Number(delivered),
          Number(pending ?? false),
          indexedDeadline(opened.request),
        )
      else
        updateInteraction(
          progress,
          response,
          Number(delivered),
          pending === null ? null : Number(pending),
          id,
        )
    }
    for (const [key, { updatedAt, status, permissionMode }] of sessions)
      updateSession(updatedAt, status ?? null, permissionMode ?? null, key)
    if (audit.length > 0) insertAudit(JSON.stringify(audit))
    setDerived(appends.at(-1)!.position)
  }
}
