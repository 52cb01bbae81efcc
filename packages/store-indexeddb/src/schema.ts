import type { Snapshot } from '@askback/core'
import type { AuditRow, Json, Session } from '@askback/protocol'
import type { DBSchema, IDBPDatabase, IDBPTransaction, StoreNames } from 'idb'

/*
 * The object stores. The log has one record per append, with its events as one JSON array. Every event has a position in one order over
 * all sessions; the indexes refer to events by `seq`, so that no request or answer is stored twice. A record is in an index only if
 * it has the property that the index is about: an interaction that is not pending has no `pendingAt`.
 */

export interface SessionRecord {
  id: string
  /** The id of its first event. */
  logId: string
  seq: number
  /** The negative position of its first event, so that an ascending index lists the newest first. */
  age: number
  /** The position of its last append. */
  changedAt: number
  info: Omit<Session, 'status' | 'permissionMode'>
  status: Session['status']
  permissionMode: Session['permissionMode']
  updatedAt: number
}

export interface LogRecord {
  sessionId: string
  lastSeq: number
  /** The position of its first event. */
  position: number
  /** A JSON array of events. */
  body: string
}

export interface InteractionRecord {
  id: string
  sessionId: string
  toolCallId: string
  /** The position of the request. */
  position: number
  /** The `seq` of its events. */
  request: number
  progress?: number
  response?: number
  delivered: boolean
  /** The position of the request, while the interaction is pending. */
  pendingAt?: number
  expiresAt?: number
}

export interface AuditRecord {
  position: number
  row: AuditRow
  /** The session, while the row has a message that is erased with it. */
  messageOf?: string
}

export interface IdbSchema extends DBSchema {
  /** `sequence` is the last position that was given to an event, a change or a version. */
  meta: { key: 'sequence'; value: number }
  sessions: { key: string; value: SessionRecord; indexes: { age: number; changedAt: number } }
  log: { key: [sessionId: string, lastSeq: number]; value: LogRecord; indexes: { position: number } }
  interactions: {
    key: string
    value: InteractionRecord
    indexes: {
      toolCall: [sessionId: string, toolCallId: string, position: number]
      session: string
      pending: number
      pendingIn: [sessionId: string, pendingAt: number]
    }
  }
  toolCalls: { key: [sessionId: string, id: string]; value: ToolCallRecord }
  audit: { key: number; value: AuditRecord; indexes: { messageOf: string } }
  kv: { key: string; value: { key: string; value: Json; version: number } }
  snapshots: { key: string; value: Snapshot }
  locks: { key: string; value: { owner: string; until: number } }
  /** Erased sessions, by the position of the erasure. */
  erasures: { key: number; value: string }
}

export interface ToolCallRecord {
  sessionId: string
  id: string
  ended: boolean
}

export type Tables = StoreNames<IdbSchema>
export type IdbDatabase = IDBPDatabase<IdbSchema>
export type WriteTransaction = IDBPTransaction<IdbSchema, Tables[], 'readwrite'>

export const TABLES: Tables[] = [
  'meta',
  'sessions',
  'log',
  'interactions',
  'toolCalls',
  'audit',
  'kv',
  'snapshots',
  'locks',
  'erasures',
]

/** Each entry migrates by one version. Only the last may be changed, and only until it is released. */
const migrations: ((db: IdbDatabase) => void)[] = [
  (db) => {
    db.createObjectStore('meta')
    const sessions = db.createObjectStore('sessions', { keyPath: 'id' })
    sessions.createIndex('age', 'age')
    sessions.createIndex('changedAt', 'changedAt')
    const log = db.createObjectStore('log', { keyPath: ['sessionId', 'lastSeq'] })
    log.createIndex('position', 'position')
    const interactions = db.createObjectStore('interactions', { keyPath: 'id' })
    interactions.createIndex('toolCall', ['sessionId', 'toolCallId', 'position'])
    interactions.createIndex('session', 'sessionId')
    interactions.createIndex('pending', 'pendingAt')
    interactions.createIndex('pendingIn', ['sessionId', 'pendingAt'])
    db.createObjectStore('toolCalls', { keyPath: ['sessionId', 'id'] })
    db.createObjectStore('audit', { keyPath: 'position' }).createIndex('messageOf', 'messageOf')
    db.createObjectStore('kv', { keyPath: 'key' })
    db.createObjectStore('snapshots')
    db.createObjectStore('locks')
    db.createObjectStore('erasures')
  },
]

export const VERSION = migrations.length

export function migrate(db: IdbDatabase, from: number): void {
  for (const migration of migrations.slice(from)) migration(db)
}

/** The keys of everything that belongs to a session in a store whose keys begin with its id. An array sorts after every number and text. */
export function keysOf(sessionId: string): IDBKeyRange {
  return IDBKeyRange.bound([sessionId], [sessionId, []])
}

/** Every text that begins with the prefix. Texts are compared by their UTF-16 units, of which the last one is increased for the end. */
export function startingWith(prefix: string): IDBKeyRange {
  if (prefix === '') return IDBKeyRange.lowerBound('')
  const last = prefix.charCodeAt(prefix.length - 1)
  return IDBKeyRange.bound(prefix, prefix.slice(0, -1) + String.fromCharCode(last + 1), false, true)
}

/** For `getAll`, which does not accept infinity. */
export function countOf(limit: number): number | undefined {
  return limit < 2 ** 32 ? limit : undefined
}
