import { sessionChange, sessionInfo } from '@askback/core/store'
import {
  AskbackError,
  emptyState,
  errorMessage,
  foldInto,
  pendingOf,
  type SessionEvent,
  type SessionState,
} from '@askback/protocol'
import { gapBefore, lossOf, LOG_ROW, problemIn, type LogRow } from './completeness.js'
import { connection, parseStored, type Connection } from './connection.js'
import { closeAsFound, withLock } from './database-lock.js'
import { VERSION, versionOf } from './migrations.js'

/** What a database contains, in numbers. */
export interface DatabaseCounts {
  sessions: number
  events: number
  pending: number
}

type ReportFinding = (finding: string) => void

const ROWS_PER_PAGE = 500

/**
 * Reads a whole database that no process uses, and compares every index with the logs from which it is derived. It takes seconds
 * for each hundred megabytes and changes nothing. Throws `unavailable` if the database is in use, empty or of an older version.
 *
 * @param report called with each finding: a sentence without its full stop
 * @example
 * const counts = checkDatabase('askback.db', (finding) => console.error(finding))
 */
export function checkDatabase(file: string, report: ReportFinding): DatabaseCounts {
  return withLock(file, (raw, path, wasInUse) => {
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
    const check = (what: string, run: () => void) => {
      try {
        run()
      } catch (error) {
        report(`${what} cannot be read: ${errorMessage(error)}`)
      }
    }
    check('what was acknowledged', () => {
      const loss = lossOf(db, path)
      if (loss !== null) report(loss.replace(/\.$/, ''))
    })
    check('the file', () => checkPages(db, report))
    check('its tables', () => checkTables(db, report))
    check('the list of sessions', () => {
      const sessions = db.all<SessionColumns>(SESSIONS)()
      for (const session of sessions) {
        counts.sessions += 1
        check(`the session ${session[1].toString()}`, () => checkSession(db, session, counts, report))
      }
    })
    check('what belongs to sessions', () => checkOrphans(db, report))
    check('the keys', () => checkKeys(db, report))
    check('the positions', () => checkPositions(db, report))
    closeAsFound(raw, path, wasInUse)
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

function checkPages(db: Connection, report: ReportFinding): void {
  for (const [line] of db.all<[string]>('PRAGMA integrity_check(100)')())
    if (line !== 'ok') report(`the file is damaged: ${line}`)
}

/** We create no triggers or views. One that somebody added could change what is written. */
function checkTables(db: Connection, report: ReportFinding): void {
  const foreign =
    "SELECT CAST(type AS BLOB), CAST(name AS BLOB) FROM sqlite_schema WHERE type IN ('trigger', 'view')"
  for (const [type, name] of db.all<[Buffer, Buffer]>(foreign)())
    report(`the file has the ${type.toString()} ${name.toString()}, which Askback did not make`)
}

/** The log is checked first: nothing can be compared with a log that is damaged. */
function checkSession(
  db: Connection,
  session: SessionColumns,
  counts: DatabaseCounts,
  report: ReportFinding,
): void {
  const [key, idBytes] = session
  const id = idBytes.toString()
  const log = readLog(db, key, id)
  counts.events += log.seq
  if (log.problem !== null) {
    report(log.problem)
    return
  }
  counts.pending += pendingOf(log.state).length
  checkRow(session, log, report)
  checkInteractions(db, key, id, log, report)
  checkToolCalls(db, key, id, log, report)
  checkSnapshot(db, key, id, log.seq, report)
}

/** The index row that follows from the log, with positions of events. */
interface ExpectedInteraction {
  toolCallId: string
  request: number
  progress: number | null
  response: number | null
  delivered: boolean
}

interface CheckedLog {
  seq: number
  problem: string | null
  state: SessionState
  /** Those of the part of the log from which the tables were derived; `null` while all of it is such. */
  pending: Set<string> | null
  info: unknown
  row: { updatedAt: number; status?: string; permissionMode?: string }
  interactions: Map<string, ExpectedInteraction>
  /** Whether each has ended, by id. */
  toolCalls: Map<string, boolean>
  decisions: { interactionId: string; position: number }[]
}

function readLog(db: Connection, key: number, id: string): CheckedLog {
  const next = db.all<LogRow>(
    `SELECT ${LOG_ROW} FROM log WHERE session = ? AND last_seq > ? ORDER BY last_seq LIMIT ?`,
  )
  const log: CheckedLog = {
    seq: 0,
    problem: null,
    state: emptyState(id),
    pending: null,
    info: null,
    row: { updatedAt: 0, status: 'idle', permissionMode: 'default' },
    interactions: new Map(),
    toolCalls: new Map(),
    decisions: [],
  }
  const ids = new Set<string>()
  // After a crash the tables lack the last appends, which the next start derives: see `derived-tables.ts`.
  const [derivedUntil] = db.get<[number]>("SELECT value FROM meta WHERE key = 'derived'")()!
  for (let rows = next(key, 0, ROWS_PER_PAGE); rows.length > 0; rows = next(key, log.seq, ROWS_PER_PAGE)) {
    for (const row of rows) {
      const [pos, , firstSeq, lastSeq, , body] = row
      log.problem = firstSeq === log.seq + 1 ? problemIn(row, id) : gapBefore(firstSeq, id)
      if (log.problem !== null) return log
      const events = parseStored<SessionEvent[]>(body)
      for (const event of events) {
        if (ids.has(event.id)) log.problem = `the session ${id} has the event ${event.id} twice`
        ids.add(event.id)
      }
      if (log.problem !== null) return log
      if (log.seq === 0) log.info = sessionInfo(events)
      const isDerived = pos <= derivedUntil
      if (!isDerived) log.pending ??= pendingIds(log.state)
      foldInto(log.state, events)
      log.seq = lastSeq
      if (!isDerived) continue
      log.row = { ...log.row, ...sessionChange(events) }
      events.forEach((event, index) => addToExpected(log, event, pos + index))
    }
  }
  if (log.seq === 0) log.problem = `the session ${id} has no log`
  return log
}

function pendingIds(state: SessionState): Set<string> {
  return new Set(pendingOf(state).map(({ interactionId }) => interactionId))
}

/** Updates what the indexes must contain after this event. It shares no code with the append that writes them. */
function addToExpected(log: CheckedLog, event: SessionEvent, position: number): void {
  switch (event.type) {
    case 'tool_call':
      if (!log.toolCalls.has(event.toolCallId)) log.toolCalls.set(event.toolCallId, false)
      break
    case 'tool_result':
      if (log.toolCalls.has(event.toolCallId)) log.toolCalls.set(event.toolCallId, true)
      break
    case 'interaction_request': {
      const { interactionId, toolCallId } = event
      const opened = { toolCallId, request: position, progress: null, response: null, delivered: false }
      log.interactions.set(interactionId, opened)
      break
    }
    case 'interaction_progress':
      update(log, event.interactionId, { progress: position })
      break
    case 'interaction_response':
      update(log, event.interactionId, { response: position })
      if (event.copyOf === undefined) log.decisions.push({ interactionId: event.interactionId, position })
      break
    case 'interaction_delivered':
      update(log, event.interactionId, { delivered: true })
      break
    default:
  }
}

function update(
  { interactions }: CheckedLog,
  interactionId: string,
  change: Partial<ExpectedInteraction>,
): void {
  const expected = interactions.get(interactionId)
  if (expected) Object.assign(expected, change)
}

function checkRow(
  [, id, info, status, mode, updatedAt]: SessionColumns,
  log: CheckedLog,
  report: ReportFinding,
): void {
  const indexed = [parseStored<unknown>(info), status.toString(), mode.toString(), updatedAt]
  const { row } = log
  if (JSON.stringify(indexed) !== JSON.stringify([log.info, row.status, row.permissionMode, row.updatedAt]))
    report(`the row of the session ${id.toString()} does not agree with its log`)
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

function checkInteractions(
  db: Connection,
  key: number,
  id: string,
  log: CheckedLog,
  report: ReportFinding,
): void {
  const rows = db.all<InteractionColumns>(
    `SELECT CAST(id AS BLOB), CAST(tool_call_id AS BLOB), request, progress, response, delivered, pending
     FROM interactions WHERE session = ?`,
  )(key)
  const isPending = log.pending ?? pendingIds(log.state)
  const missing = new Map(log.interactions)
  for (const [nameBytes, toolCallId, request, progress, response, delivered, pending] of rows) {
    const name = nameBytes.toString()
    const expected = missing.get(name)
    missing.delete(name)
    if (!expected) {
      report(`the index of the session ${id} has the interaction ${name}, which its log has not`)
      continue
    }
    const indexed = [toolCallId.toString(), request, progress, response]
    const logged = [expected.toolCallId, expected.request, expected.progress, expected.response]
    if (JSON.stringify(indexed) !== JSON.stringify(logged))
      report(`the index of the session ${id} names the wrong position for the interaction ${name}`)
    const wordFor = (value: boolean) => (value ? 'pending' : 'settled')
    if (isPending.has(name) !== (pending === 1))
      report(
        `the index of the session ${id} has ${name} as ${wordFor(pending === 1)}, its log as ${wordFor(isPending.has(name))}`,
      )
    if (expected.delivered !== (delivered === 1))
      report(`the index of the session ${id} is wrong about the delivery of ${name}`)
  }
  for (const name of missing.keys()) report(`the index of the session ${id} lacks the interaction ${name}`)
  const findDecision = db.get<[number]>('SELECT 1 FROM audit WHERE place = ?')
  for (const { interactionId, position } of log.decisions)
    if (!findDecision(position)) report(`the audit lacks the decision on ${interactionId}`)
}

function checkToolCalls(
  db: Connection,
  key: number,
  id: string,
  log: CheckedLog,
  report: ReportFinding,
): void {
  const rows = db.all<[Buffer, number]>('SELECT CAST(id AS BLOB), ended FROM tool_calls WHERE session = ?')(
    key,
  )
  const indexed = new Map(rows.map(([name, ended]) => [name.toString(), ended === 1]))
  for (const name of new Set([...indexed.keys(), ...log.toolCalls.keys()]))
    if (indexed.get(name) !== log.toolCalls.get(name))
      report(`the index of the session ${id} is wrong about the tool call ${name}`)
}

function checkSnapshot(db: Connection, key: number, id: string, seq: number, report: ReportFinding): void {
  const row = db.get<[number, Buffer]>('SELECT seq, CAST(state AS BLOB) FROM snapshots WHERE session = ?')(
    key,
  )
  if (!row) return
  if (row[0] > seq) report(`the snapshot of the session ${id} is ahead of its log`)
  if (!isJson(row[1])) report(`the snapshot of the session ${id} is not JSON`)
}

function checkOrphans(db: Connection, report: ReportFinding): void {
  for (const table of ['log', 'interactions', 'tool_calls', 'snapshots']) {
    const [count] = db.get<[number]>(
      `SELECT count(*) FROM ${table} WHERE session NOT IN (SELECT key FROM sessions)
       AND session NOT IN (SELECT session FROM erased)`,
    )()!
    if (count > 0) report(`${count} rows in ${table} belong to no session`)
  }
}

function checkKeys(db: Connection, report: ReportFinding): void {
  for (const [key, value] of db.all<[Buffer, Buffer]>(
    'SELECT CAST(key AS BLOB), CAST(value AS BLOB) FROM kv',
  )())
    if (!isJson(value)) report(`the key ${key.toString()} is not JSON`)
  const next = db.all<[number, Buffer, Buffer | null]>(
    'SELECT place, CAST(body AS BLOB), CAST(message AS BLOB) FROM audit WHERE place > ? ORDER BY place LIMIT ?',
  )
  for (let rows = next(0, ROWS_PER_PAGE); rows.length > 0; rows = next(rows.at(-1)![0], ROWS_PER_PAGE))
    for (const [position, body, message] of rows)
      if (!isJson(body) || (message !== null && !isJson(message)))
        report(`the row ${position} of the audit is not JSON`)
}

/** Positions must never be allocated twice. */
function checkPositions(db: Connection, report: ReportFinding): void {
  const [isFree] = db.get<[number]>(
    `SELECT (SELECT value FROM meta WHERE key = 'reserved') >= max(
       (SELECT coalesce(max(pos + last_seq - first_seq), 0) FROM log),
       (SELECT coalesce(max(place), 0) FROM audit), (SELECT coalesce(max(version), 0) FROM kv))`,
  )()!
  if (isFree === 0) report('positions that are in use could be allocated again')
}

function isJson(bytes: Buffer): boolean {
  try {
    parseStored(bytes)
    return true
  } catch {
    return false
  }
}
