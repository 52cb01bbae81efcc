import type { Append, AppendResult, KvWrite, Snapshot } from '@askback/core'
import {
  auditRows,
  indexedDeadline,
  pendingChanges,
  sessionChange,
  sessionInfo,
  splitMessage,
} from '@askback/core/store'
import type { AuditRow, Json, SessionEvent } from '@askback/protocol'
import {
  keysOf,
  startingWith,
  type InteractionRecord,
  type SessionRecord,
  type WriteTransaction,
} from './schema.js'
import type { Positions } from './transaction-queue.js'

/*
 * What writes do inside of their transaction. Each function reads what it must compare, so several tabs can write.
 */

/** `body` is the JSON of the events. */
export async function appendEvents(
  tx: WriteTransaction,
  positions: Positions,
  append: Append,
  body: string,
): Promise<AppendResult> {
  const { sessionId, expectedSeq, events, logId, kv: writes = [], fence, lockOwner } = append
  const sessions = tx.objectStore('sessions')
  const known = await sessions.get(sessionId)
  const lock = await tx.objectStore('locks').get(sessionId)
  if (lock && lock.owner !== lockOwner && lock.until > Date.now()) return { ok: false, conflict: 'locked' }
  if ((known?.seq ?? 0) !== expectedSeq || isOtherLog(known, logId)) return { ok: false, conflict: 'seq' }
  if (fence && (await versionOf(tx, fence.key)) !== fence.version) return { ok: false, conflict: 'fence' }
  if (!(await allows(tx, writes))) return { ok: false, conflict: 'kv' }

  const position = positions.take(events.length)
  const lastSeq = expectedSeq + events.length
  const { updatedAt, status, permissionMode } = sessionChange(events)
  const begun = known ?? newSession(events, position)
  await together([
    () =>
      sessions.put({
        ...begun,
        seq: lastSeq,
        changedAt: position,
        updatedAt,
        status: status ?? begun.status,
        permissionMode: permissionMode ?? begun.permissionMode,
      }),
    () => tx.objectStore('log').put({ sessionId, lastSeq, position, body }),
    () => (lockOwner === undefined ? undefined : tx.objectStore('locks').delete(sessionId)),
  ])
  await indexInteractions(tx, events, position)
  await indexToolCalls(tx, sessionId, events)
  await addAudit(tx, positions, events.flatMap(auditRows))
  for (const { key, value } of writes) await writeKey(tx, positions, key, value)
  return { ok: true }
}

/** Makes several requests at once. One that throws must not leave the promises of those before it without a handler. */
async function together(requests: (() => Promise<unknown> | undefined)[]): Promise<void> {
  await Promise.all(requests.map(async (request) => request()))
}

function newSession(events: SessionEvent[], position: number): SessionRecord {
  const info = sessionInfo(events)
  return {
    id: info.id,
    logId: events[0]!.id,
    seq: 0,
    age: -position,
    changedAt: position,
    info,
    status: 'idle',
    permissionMode: 'default',
    updatedAt: 0,
  }
}

/** Whether the session was erased and started again since the caller read the log `logId`. */
function isOtherLog(known: SessionRecord | undefined, logId: string | undefined): boolean {
  return known !== undefined && logId !== undefined && known.logId !== logId
}

async function indexInteractions(
  tx: WriteTransaction,
  events: SessionEvent[],
  position: number,
): Promise<void> {
  const table = tx.objectStore('interactions')
  const pending = pendingChanges(events)
  const changed = new Map<string, InteractionRecord>()
  const find = async (id: string) => changed.get(id) ?? (await table.get(id))

  for (const [offset, event] of events.entries()) {
    if (event.type === 'interaction_request') {
      const { interactionId: id, sessionId, toolCallId, seq } = event
      const expiresAt = indexedDeadline(event)
      const at = position + offset
      changed.set(id, {
        id,
        sessionId,
        toolCallId,
        position: at,
        request: seq,
        delivered: false,
        ...(pending.get(id) && { pendingAt: at }),
        ...(expiresAt !== null && { expiresAt }),
      })
    } else if (
      event.type === 'interaction_progress' ||
      event.type === 'interaction_response' ||
      event.type === 'interaction_delivered'
    ) {
      const record = await find(event.interactionId)
      if (record) changed.set(record.id, withEvent(record, event))
    }
  }
  for (const [id, isPending] of pending) {
    const record = isPending ? undefined : await find(id)
    if (!record) continue
    const { pendingAt: _, ...settled } = record
    changed.set(id, settled)
  }
  await together([...changed.values()].map((record) => () => table.put(record)))
}

function withEvent(
  record: InteractionRecord,
  {
    type,
    seq,
  }: { type: 'interaction_progress' | 'interaction_response' | 'interaction_delivered'; seq: number },
): InteractionRecord {
  switch (type) {
    case 'interaction_progress':
      return { ...record, progress: seq }
    case 'interaction_response':
      return { ...record, response: seq }
    case 'interaction_delivered':
      return { ...record, delivered: true }
  }
}

async function indexToolCalls(
  tx: WriteTransaction,
  sessionId: string,
  events: SessionEvent[],
): Promise<void> {
  const table = tx.objectStore('toolCalls')
  for (const event of events) {
    if (event.type !== 'tool_call' && event.type !== 'tool_result') continue
    const { toolCallId: id } = event
    const known = await table.get([sessionId, id])
    if (event.type === 'tool_call' && !known) await table.put({ sessionId, id, ended: false })
    if (event.type === 'tool_result' && known) await table.put({ ...known, ended: true })
  }
}

export async function addAudit(tx: WriteTransaction, positions: Positions, rows: AuditRow[]): Promise<void> {
  for (const row of rows) {
    const messageOf = 'message' in row ? row.sessionId : undefined
    await tx
      .objectStore('audit')
      .put({ position: positions.take(), row, ...(messageOf !== undefined && { messageOf }) })
  }
}

export async function eraseSession(
  tx: WriteTransaction,
  positions: Positions,
  sessionId: string,
  logId?: string,
): Promise<void> {
  const known = await tx.objectStore('sessions').get(sessionId)
  if (isOtherLog(known, logId)) return
  await tx.objectStore('kv').delete(startingWith(`session/${sessionId}/`))
  if (!known) return
  const interactions = tx.objectStore('interactions')
  const audit = tx.objectStore('audit')
  const [ids, rows] = await Promise.all([
    interactions.index('session').getAllKeys(sessionId),
    audit.index('messageOf').getAll(sessionId),
  ])
  await together([
    ...ids.map((id) => () => interactions.delete(id)),
    ...rows.map(
      ({ position, row }) =>
        () =>
          audit.put({ position, row: splitMessage(row).row }),
    ),
    () => tx.objectStore('sessions').delete(sessionId),
    () => tx.objectStore('log').delete(keysOf(sessionId)),
    () => tx.objectStore('toolCalls').delete(keysOf(sessionId)),
    () => tx.objectStore('snapshots').delete(sessionId),
    () => tx.objectStore('erasures').put(sessionId, positions.take()),
  ])
}

export async function saveSnapshot(
  tx: WriteTransaction,
  sessionId: string,
  snapshot: Snapshot,
  logId?: string,
): Promise<void> {
  const known = await tx.objectStore('sessions').get(sessionId)
  if (!known || isOtherLog(known, logId) || snapshot.seq > known.seq) return
  const table = tx.objectStore('snapshots')
  const older = await table.get(sessionId)
  if (snapshot.seq >= (older?.seq ?? 0)) await table.put(snapshot, sessionId)
}

/** Versions are positions, which never repeat, so that a key that was deleted and written again does not look unchanged. */
export async function putKey(
  tx: WriteTransaction,
  positions: Positions,
  { key, value, expected }: { key: string; value: Json | null; expected: number | null },
): Promise<boolean> {
  if ((await versionOf(tx, key)) !== expected) return false
  await writeKey(tx, positions, key, value)
  return true
}

async function writeKey(
  tx: WriteTransaction,
  positions: Positions,
  key: string,
  value: Json | null,
): Promise<void> {
  const table = tx.objectStore('kv')
  if (value === null) await table.delete(key)
  else await table.put({ key, value, version: positions.take() })
}

async function versionOf(tx: WriteTransaction, key: string): Promise<number | null> {
  return (await tx.objectStore('kv').get(key))?.version ?? null
}

/** Whether no write of an append has `ifAbsent` for a key that exists. */
async function allows(tx: WriteTransaction, writes: KvWrite[]): Promise<boolean> {
  for (const { key, ifAbsent } of writes) if (ifAbsent && (await versionOf(tx, key)) !== null) return false
  return true
}

export async function acquireLock(
  tx: WriteTransaction,
  sessionId: string,
  owner: string,
  ms: number,
): Promise<boolean> {
  const table = tx.objectStore('locks')
  const held = await table.get(sessionId)
  if (held && held.owner !== owner && held.until > Date.now()) return false
  await table.put({ owner, until: Date.now() + ms }, sessionId)
  return true
}

export async function releaseLock(tx: WriteTransaction, sessionId: string, owner: string): Promise<void> {
  const table = tx.objectStore('locks')
  if ((await table.get(sessionId))?.owner === owner) await table.delete(sessionId)
}
