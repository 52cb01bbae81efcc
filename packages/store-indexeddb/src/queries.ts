import type { Change, KvEntry, ChangeNotice, Page, SessionRow, Snapshot, Store } from '@askback/core'
import { hasType, buildInteraction, pageOf, parseCursor } from '@askback/core/store'
import type { AuditRow, EventOf, EventType, Interaction, SessionEvent } from '@askback/protocol'
import type { IDBPTransaction } from 'idb'
import {
  countOf,
  startingWith,
  type IdbDatabase,
  type InteractionRecord,
  type LogRecord,
  type IdbSchema,
  type SessionRecord,
} from './schema.js'

/** Rows that are read at once when a list is filtered. */
const PAGE_ROWS = 256

type LogTransaction = IDBPTransaction<IdbSchema, ('interactions' | 'log')[]>
type ChangesTransaction = IDBPTransaction<IdbSchema, typeof CHANGES>
const CHANGES: ('log' | 'sessions' | 'erasures')[] = ['log', 'sessions', 'erasures']

export async function readEvents(
  db: IdbDatabase,
  { sessionId, after = 0, before, limit }: Parameters<Store['read']>[0],
): Promise<SessionEvent[]> {
  const tx = db.transaction(['sessions', 'log'])
  const head = (await tx.objectStore('sessions').get(sessionId))?.seq ?? 0
  const to = Math.min(before === undefined ? after + limit : before - 1, head)
  const from = before === undefined ? after : Math.max(after, to - limit)
  if (from >= to) return []
  const log = tx.objectStore('log')
  // The record that contains `to` is the first whose last seq is not below it.
  const [records, last] = await Promise.all([
    from + 1 < to
      ? log.getAll(IDBKeyRange.bound([sessionId, from + 1], [sessionId, to], false, true))
      : Promise.resolve<LogRecord[]>([]),
    log.get(IDBKeyRange.bound([sessionId, to], [sessionId, []])),
  ])
  return [...records, ...(last ? [last] : [])].flatMap(eventsOf).filter(({ seq }) => seq > from && seq <= to)
}

export async function changes(db: IdbDatabase, after: number, limit: number): Promise<Change[]> {
  const tx = db.transaction(CHANGES)
  const range = IDBKeyRange.lowerBound(after, true)
  const [records, erased] = await Promise.all([
    tx.objectStore('log').index('position').getAll(range, countOf(limit)),
    erasures(tx, range, limit),
  ])
  const appended = records.map((record) => ({
    position: record.position,
    sessionId: record.sessionId,
    events: eventsOf(record),
  }))
  return firstOf([...appended, ...erased.map((erasure) => ({ ...erasure, events: [] }))], limit)
}

/** Appends to one session are combined: each session is found by its last one. */
export async function changedSessions(
  db: IdbDatabase,
  after: number,
  limit: number,
): Promise<ChangeNotice[]> {
  const tx = db.transaction(CHANGES)
  const range = IDBKeyRange.lowerBound(after, true)
  const [sessions, erased] = await Promise.all([
    tx.objectStore('sessions').index('changedAt').getAll(range, countOf(limit)),
    erasures(tx, range, limit),
  ])
  const changed = sessions.map(({ id, changedAt, logId, seq }) => ({
    position: changedAt,
    sessionId: id,
    reaches: { logId, seq },
  }))
  return firstOf([...changed, ...erased], limit)
}

async function erasures(
  tx: ChangesTransaction,
  range: IDBKeyRange,
  limit: number,
): Promise<{ position: number; sessionId: string }[]> {
  const table = tx.objectStore('erasures')
  const [positions, ids] = await Promise.all([
    table.getAllKeys(range, countOf(limit)),
    table.getAll(range, countOf(limit)),
  ])
  return positions.map((position, index) => ({ position, sessionId: ids[index]! }))
}

function firstOf<Row extends { position: number }>(
  rows: Row[],
  limit: number,
): (Omit<Row, 'position'> & { cursor: string })[] {
  return rows
    .toSorted((one, other) => one.position - other.position)
    .slice(0, limit)
    .map(({ position, ...row }) => ({ cursor: String(position), ...row }))
}

/** Every position that was given out belongs to something older than what comes next. */
export async function head(db: IdbDatabase): Promise<string> {
  return String((await db.get('meta', 'sequence')) ?? 0)
}

export async function session(db: IdbDatabase, sessionId: string): Promise<SessionRow | null> {
  const record = await db.get('sessions', sessionId)
  return record ? sessionRow(record) : null
}

export async function sessions(
  db: IdbDatabase,
  { after, limit, updatedBefore = Infinity }: Parameters<Store['sessions']>[0],
): Promise<Page<SessionRow>> {
  const index = db.transaction('sessions').store.index('age')
  const found: SessionRecord[] = []
  let olderThan = after === undefined ? -Infinity : -parseCursor(after)
  while (found.length <= limit) {
    const rows = await index.getAll(IDBKeyRange.lowerBound(olderThan, true), PAGE_ROWS)
    found.push(...rows.filter(({ updatedAt }) => updatedAt < updatedBefore))
    if (rows.length < PAGE_ROWS) break
    olderThan = rows.at(-1)!.age
  }
  return pageOf(found.slice(0, limit + 1), limit, ({ age }) => -age, sessionRow)
}

function sessionRow({ info, status, permissionMode, updatedAt }: SessionRecord): SessionRow {
  return { ...info, status, permissionMode, updatedAt }
}

export async function interaction(db: IdbDatabase, interactionId: string): Promise<Interaction | null> {
  const tx = db.transaction(['interactions', 'log'])
  const record = await tx.objectStore('interactions').get(interactionId)
  return record ? rebuild(tx, record) : null
}

export async function interactionsOf(
  db: IdbDatabase,
  sessionId: string,
  toolCallId: string,
): Promise<Interaction[]> {
  const tx = db.transaction(['interactions', 'log'])
  const index = tx.objectStore('interactions').index('toolCall')
  const records = await index.getAll(IDBKeyRange.bound([sessionId, toolCallId], [sessionId, toolCallId, []]))
  return Promise.all(records.map((record) => rebuild(tx, record)))
}

export async function pending(
  db: IdbDatabase,
  { sessionId, after = '0', limit }: Parameters<Store['pending']>[0],
): Promise<Page<Interaction>> {
  const place = parseCursor(after)
  const tx = db.transaction(['interactions', 'log'])
  const table = tx.objectStore('interactions')
  const records = await (sessionId === undefined
    ? table.index('pending').getAll(IDBKeyRange.lowerBound(place, true), countOf(limit + 1))
    : table
        .index('pendingIn')
        .getAll(IDBKeyRange.bound([sessionId, place], [sessionId, []], true), countOf(limit + 1)))
  const shown = await Promise.all(records.slice(0, limit).map((record) => rebuild(tx, record)))
  const { next } = pageOf(
    records,
    limit,
    ({ position }) => position,
    ({ id }) => id,
  )
  return { items: shown, next }
}

export async function pendingCounts(db: IdbDatabase): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const { sessionId } of await db.getAllFromIndex('interactions', 'pending'))
    counts.set(sessionId, (counts.get(sessionId) ?? 0) + 1)
  return counts
}

export async function deadlines(db: IdbDatabase): ReturnType<Store['deadlines']> {
  const records = await db.getAllFromIndex('interactions', 'pending')
  return records.flatMap(({ sessionId, id, expiresAt }) =>
    expiresAt === undefined ? [] : [{ sessionId, interactionId: id, expiresAt }],
  )
}

export async function toolCall(
  db: IdbDatabase,
  sessionId: string,
  toolCallId: string,
): Promise<{ ended: boolean } | null> {
  const record = await db.get('toolCalls', [sessionId, toolCallId])
  return record ? { ended: record.ended } : null
}

export async function audit(db: IdbDatabase, after: number, limit: number): Promise<Page<AuditRow>> {
  const rows = await db.getAll('audit', IDBKeyRange.lowerBound(after, true), countOf(limit + 1))
  return pageOf(
    rows,
    limit,
    ({ position }) => position,
    ({ row }) => row,
  )
}

export async function key(db: IdbDatabase, name: string): Promise<KvEntry | null> {
  return (await db.get('kv', name)) ?? null
}

export function keys(db: IdbDatabase, prefix: string): Promise<KvEntry[]> {
  return db.getAll('kv', startingWith(prefix))
}

export async function loadSnapshot(db: IdbDatabase, sessionId: string): Promise<Snapshot | null> {
  return (await db.get('snapshots', sessionId)) ?? null
}

async function rebuild(tx: LogTransaction, record: InteractionRecord): Promise<Interaction> {
  const { sessionId, progress, response, delivered } = record
  const [asked, reported, answered] = await Promise.all([
    eventAt(tx, 'interaction_request', sessionId, record.request),
    progress === undefined ? undefined : eventAt(tx, 'interaction_progress', sessionId, progress),
    response === undefined ? undefined : eventAt(tx, 'interaction_response', sessionId, response),
  ])
  return buildInteraction({
    request: asked,
    progress: reported,
    response: answered,
    delivered,
    pending: record.pendingAt !== undefined,
  })
}

async function eventAt<Type extends EventType>(
  tx: LogTransaction,
  type: Type,
  sessionId: string,
  seq: number,
): Promise<EventOf<Type>> {
  const record = await tx.objectStore('log').get(IDBKeyRange.bound([sessionId, seq], [sessionId, []]))
  const event = record && eventsOf(record).find((each) => each.seq === seq)
  if (event && hasType(event, type)) return event
  throw new DOMException(`The log of ${sessionId} has no ${type} at seq ${seq}.`, 'UnknownError')
}

/** Written by this store alone, so it is trusted. */
function eventsOf({ body }: LogRecord): SessionEvent[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- trusted, as above
  return JSON.parse(body) as SessionEvent[]
}
