import { sessionChange, sessionInfo } from '@askback/core'
import {
  AskbackError,
  emptyState,
  foldInto,
  pendingOf,
  type SessionEvent,
  type SessionState,
} from '@askback/protocol'
import { gapBefore, lossOf, LOG_ROW, problemIn, type LogRow } from './completeness.js'
import { connection, type Connection } from './connection.js'
import { VERSION, versionOf } from './migrations.js'
import { leaveAsItWas, locked } from './open.js'
import { stored } from './stored.js'

export interface DatabaseCounts {
  sessions: number
  events: number
  pending: number
}

type Found = (finding: string) => void

const ROWS_AT_ONCE = 500

/**
 * Reads all of a database that nobody uses, and compares every index with the logs that it follows from. Each finding is
 * a sentence without its full stop. Takes seconds for each hundred megabytes, and changes nothing.
 */
export function checkDatabase(file: string, found: Found): DatabaseCounts {
  return locked(file, (raw, path, wasInUse) => {
    const version = versionOf(raw)
    if (version === 0) throw new AskbackError('unavailable', `The database ${path} is empty.`)
    if (version !== VERSION) {
      throw new AskbackError(
        'unavailable',
        `The database ${path} was made by an older Askback: start a gateway on it once, then check it.`,
      )
    }
    const db = connection(raw, path)
    const counts: DatabaseCounts = { sessions: 0, events: 0, pending: 0 }
    const check = (what: string, look: () => void) => {
      try {
        look()
      } catch (error) {
        found(`${what} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
    check('what was acknowledged', () => {
      const loss = lossOf(db, path)
      if (loss !== null) found(loss.replace(/\.$/, ''))
    })
    check('the file', () => checkPages(db, found))
    check('its tables', () => checkTables(db, found))
    check('the list of sessions', () => {
      const sessions = db.all<SessionColumns>(SESSIONS)()
      for (const session of sessions) {
        counts.sessions += 1
        check(`the session ${session[1].toString()}`, () => checkSession(db, session, counts, found))
      }
    })
    check('what belongs to sessions', () => checkOrphans(db, found))
    check('the keys', () => checkKeys(db, found))
    check('the numbers', () => checkNumbers(db, found))
    leaveAsItWas(raw, path, wasInUse)
    return counts
  })
}

type SessionColumns = [
  key: number,
  id: Buffer,
  info: Buffer,
  status: Buffer,
  permissionMode: Buffer,
  updatedAt: number,
]
const SESSIONS = `SELECT key, CAST(id AS BLOB), CAST(info AS BLOB), CAST(status AS BLOB),
  CAST(permission_mode AS BLOB), updated_at FROM sessions ORDER BY key`

function checkPages(db: Connection, found: Found): void {
  for (const [line] of db.all<[string]>('PRAGMA integrity_check(100)')())
    if (line !== 'ok') found(`the file is damaged: ${line}`)
}

/** There are none of ours: one that somebody added could change what is written. */
function checkTables(db: Connection, found: Found): void {
  const foreign =
    "SELECT CAST(type AS BLOB), CAST(name AS BLOB) FROM sqlite_schema WHERE type IN ('trigger', 'view')"
  for (const [type, name] of db.all<[Buffer, Buffer]>(foreign)())
    found(`the file has the ${type.toString()} ${name.toString()}, which Askback did not make`)
}

/** The log by itself first: what does not hold together there cannot be compared with anything. */
function checkSession(db: Connection, session: SessionColumns, counts: DatabaseCounts, found: Found): void {
  const [key, idBytes] = session
  const id = idBytes.toString()
  const log = readLog(db, key, id)
  counts.events += log.seq
  if (log.problem !== null) {
    found(log.problem)
    return
  }
  counts.pending += pendingOf(log.state).length
  checkRow(session, log, found)
  checkInteractions(db, key, id, log, found)
  checkToolCalls(db, key, id, log, found)
  checkSnapshot(db, key, id, log.seq, found)
}

interface Expected {
  toolCallId: string
  request: number
  progress: number | null
  response: number | null
  delivered: boolean
}

interface Log {
  seq: number
  problem: string | null
  state: SessionState
  info: unknown
  row: { updatedAt: number; status?: string; permissionMode?: string }
  interactions: Map<string, Expected>
  /** By id, whether they have ended. */
  toolCalls: Map<string, boolean>
  decisions: { interactionId: string; place: number }[]
}

function readLog(db: Connection, key: number, id: string): Log {
  const next = db.all<LogRow>(
    `SELECT ${LOG_ROW} FROM log WHERE session = ? AND last_seq > ? ORDER BY last_seq LIMIT ?`,
  )
  const log: Log = {
    seq: 0,
    problem: null,
    state: emptyState(id),
    info: null,
    row: { updatedAt: 0 },
    interactions: new Map(),
    toolCalls: new Map(),
    decisions: [],
  }
  const ids = new Set<string>()
  for (let rows = next(key, 0, ROWS_AT_ONCE); rows.length > 0; rows = next(key, log.seq, ROWS_AT_ONCE)) {
    for (const row of rows) {
      const [pos, , firstSeq, lastSeq, , body] = row
      log.problem = firstSeq === log.seq + 1 ? problemIn(row, id) : gapBefore(firstSeq, id)
      if (log.problem !== null) return log
      const events = stored<SessionEvent[]>(body)
      for (const event of events) {
        if (ids.has(event.id)) log.problem = `the session ${id} has the event ${event.id} twice`
        ids.add(event.id)
      }
      if (log.problem !== null) return log
      if (log.seq === 0) log.info = sessionInfo(events)
      log.row = { ...log.row, ...sessionChange(events) }
      events.forEach((event, index) => note(log, event, pos + index))
      foldInto(log.state, events)
      log.seq = lastSeq
    }
  }
  if (log.seq === 0) log.problem = `the session ${id} has no log`
  return log
}

/** What the indexes must say after this event, as they are kept by an append. */
function note(log: Log, event: SessionEvent, place: number): void {
  switch (event.type) {
    case 'tool_call':
      if (!log.toolCalls.has(event.toolCallId)) log.toolCalls.set(event.toolCallId, false)
      break
    case 'tool_result':
      if (log.toolCalls.has(event.toolCallId)) log.toolCalls.set(event.toolCallId, true)
      break
    case 'interaction_request': {
      const { interactionId, toolCallId } = event
      const fresh = { toolCallId, request: place, progress: null, response: null, delivered: false }
      log.interactions.set(interactionId, fresh)
      break
    }
    case 'interaction_progress':
      update(log, event.interactionId, { progress: place })
      break
    case 'interaction_response':
      update(log, event.interactionId, { response: place })
      if (event.copyOf === undefined) log.decisions.push({ interactionId: event.interactionId, place })
      break
    case 'interaction_delivered':
      update(log, event.interactionId, { delivered: true })
      break
    default:
  }
}

function update({ interactions }: Log, interactionId: string, change: Partial<Expected>): void {
  const expected = interactions.get(interactionId)
  if (expected) Object.assign(expected, change)
}

function checkRow([, id, info, status, mode, updatedAt]: SessionColumns, log: Log, found: Found): void {
  const says = [stored<unknown>(info), status.toString(), mode.toString(), updatedAt]
  const { row } = log
  if (JSON.stringify(says) !== JSON.stringify([log.info, row.status, row.permissionMode, row.updatedAt]))
    found(`the row of the session ${id.toString()} does not agree with its log`)
}

type InteractionColumns = [
  id: Buffer,
  toolCallId: Buffer,
  request: number,
  progress: number | null,
  response: number | null,
  delivered: number,
  pending: number,
]

function checkInteractions(db: Connection, key: number, id: string, log: Log, found: Found): void {
  const rows = db.all<InteractionColumns>(
    `SELECT CAST(id AS BLOB), CAST(tool_call_id AS BLOB), request, progress, response, delivered, pending
     FROM interactions WHERE session = ?`,
  )(key)
  const isPending = new Set(pendingOf(log.state).map(({ interactionId }) => interactionId))
  const left = new Map(log.interactions)
  for (const [nameBytes, toolCallId, request, progress, response, delivered, pending] of rows) {
    const name = nameBytes.toString()
    const expected = left.get(name)
    left.delete(name)
    if (!expected) {
      found(`the index of the session ${id} has the interaction ${name}, which its log has not`)
      continue
    }
    const says = [toolCallId.toString(), request, progress, response]
    const logged = [expected.toolCallId, expected.request, expected.progress, expected.response]
    if (JSON.stringify(says) !== JSON.stringify(logged))
      found(`the index of the session ${id} names the wrong place for the interaction ${name}`)
    const word = (value: boolean) => (value ? 'pending' : 'settled')
    if (isPending.has(name) !== (pending === 1))
      found(
        `the index of the session ${id} has ${name} as ${word(pending === 1)}, its log as ${word(isPending.has(name))}`,
      )
    if (expected.delivered !== (delivered === 1))
      found(`the index of the session ${id} is wrong about the delivery of ${name}`)
  }
  for (const name of left.keys()) found(`the index of the session ${id} lacks the interaction ${name}`)
  const findDecision = db.get<[number]>('SELECT 1 FROM audit WHERE place = ?')
  for (const { interactionId, place } of log.decisions)
    if (!findDecision(place)) found(`the audit lacks the decision on ${interactionId}`)
}

function checkToolCalls(db: Connection, key: number, id: string, log: Log, found: Found): void {
  const rows = db.all<[Buffer, number]>('SELECT CAST(id AS BLOB), ended FROM tool_calls WHERE session = ?')(
    key,
  )
  const indexed = new Map(rows.map(([name, ended]) => [name.toString(), ended === 1]))
  for (const name of new Set([...indexed.keys(), ...log.toolCalls.keys()]))
    if (indexed.get(name) !== log.toolCalls.get(name))
      found(`the index of the session ${id} is wrong about the tool call ${name}`)
}

function checkSnapshot(db: Connection, key: number, id: string, seq: number, found: Found): void {
  const row = db.get<[number, Buffer]>('SELECT seq, CAST(state AS BLOB) FROM snapshots WHERE session = ?')(
    key,
  )
  if (!row) return
  if (row[0] > seq) found(`the snapshot of the session ${id} is ahead of its log`)
  if (!isJson(row[1])) found(`the snapshot of the session ${id} is not JSON`)
}

function checkOrphans(db: Connection, found: Found): void {
  for (const table of ['log', 'interactions', 'tool_calls', 'snapshots']) {
    const [count] = db.get<[number]>(
      `SELECT count(*) FROM ${table} WHERE session NOT IN (SELECT key FROM sessions)
       AND session NOT IN (SELECT session FROM erased)`,
    )()!
    if (count > 0) found(`${count} rows in ${table} belong to no session`)
  }
}

function checkKeys(db: Connection, found: Found): void {
  for (const [key, value] of db.all<[Buffer, Buffer]>(
    'SELECT CAST(key AS BLOB), CAST(value AS BLOB) FROM kv',
  )())
    if (!isJson(value)) found(`the key ${key.toString()} is not JSON`)
  const next = db.all<[number, Buffer, Buffer | null]>(
    'SELECT place, CAST(body AS BLOB), CAST(message AS BLOB) FROM audit WHERE place > ? ORDER BY place LIMIT ?',
  )
  for (let rows = next(0, ROWS_AT_ONCE); rows.length > 0; rows = next(rows.at(-1)![0], ROWS_AT_ONCE))
    for (const [place, body, message] of rows)
      if (!isJson(body) || (message !== null && !isJson(message)))
        found(`the row ${place} of the audit is not JSON`)
}

/** Cursors and versions are never given twice. */
function checkNumbers(db: Connection, found: Found): void {
  const [isFree] = db.get<[number]>(
    `SELECT (SELECT value FROM meta WHERE key = 'reserved') >= max(
       (SELECT coalesce(max(pos + last_seq - first_seq), 0) FROM log),
       (SELECT coalesce(max(place), 0) FROM audit), (SELECT coalesce(max(version), 0) FROM kv))`,
  )()!
  if (isFree === 0) found('numbers that are in use could be given again')
}

function isJson(bytes: Buffer): boolean {
  try {
    stored(bytes)
    return true
  } catch {
    return false
  }
}
