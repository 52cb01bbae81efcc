import type { AuditAct, AuditRow, Interaction, Json, Session, SessionEvent } from '@askback/protocol'
import type { SharedClock } from './store-clock.js'

/*
 * The port of stores. A store holds one append-only log per session, and indexes that are updated in the same transaction as the
 * append. An append names the `seq` it was decided on and conflicts if the log is longer by now; that is the only
 * coordination between writers. To add a store, implement `Store` and run `storeContract` of `@askback/core/testing` on it.
 */

/** A write to the key-value table in the transaction of an append. */
export interface KvWrite {
  key: string
  /** `null` deletes the key. */
  value: Json | null
  /**
   * If the key exists, the whole append is a conflict.
   *
   * @default false
   */
  ifAbsent?: boolean
}

/** Events to append to the log of a session, in one transaction. */
export interface Append {
  sessionId: string
  /** The `seq` that this append was decided on. The first append of a session expects 0. */
  expectedSeq: number
  /** At least one; their `seq` are `expectedSeq + 1`, `expectedSeq + 2` and so on. */
  events: SessionEvent[]
  /** The same events as JSON, one text each, so that a store of texts need not serialise them again. */
  texts?: (() => string[]) | undefined
  /** The id of the log that it was decided on, which is that of its first event. Another log of the same session is a conflict. */
  logId?: string
  /** Written in the same transaction. */
  kv?: KvWrite[] | undefined
  /** The lease of the writer. If the key has another version by now, another gateway runs the agent, and the append is a conflict. */
  fence?: Fence | undefined
  /** The caller's name for its lock of the session, if it has it. The append releases the lock. */
  lockOwner?: string | undefined
}

/**
 * A lock reserves one append for a slow writer: while it is held, appends of others to the session are conflicts (`locked`). It
 * expires by the store's own clock.
 */
export interface SessionLocks {
  /** Returns whether `owner` holds the lock now, for `ms` milliseconds. */
  acquire(sessionId: string, owner: string, ms: number): Promise<boolean>
  release(sessionId: string, owner: string): Promise<void>
}

/** A key of the key-value table that must still have this version. */
export interface Fence {
  key: string
  version: number
}

/** A conflict is no error: the caller reads the log again and decides again. */
export type AppendResult = { ok: true } | { ok: false; conflict: 'seq' | 'kv' | 'fence' | 'locked' }

/** A page of a list. */
export interface Page<T> {
  items: T[]
  /** An opaque cursor: pass it as `after` to get the next page. `null` on the last page. */
  next: string | null
}

/** A session as a store lists it. */
export interface SessionRow extends Session {
  /** When its last event was appended. */
  updatedAt: number
}

/** One append, or in a shared store an erasure, which has no events. */
export interface Change {
  cursor: string
  sessionId: string
  events: SessionEvent[]
}

/** Says without its events that a session has new ones, or was erased. */
export interface ChangeNotice {
  cursor: string
  sessionId: string
  /** The log and its last `seq`, so that a process that knows that much need not read it. Missing after an erasure. */
  reaches?: { logId: string; seq: number }
}

/** What the doorbell carries. A listener reads the log after its own cursor. By `eventId`, the id of the last event, a writer recognises its own append. */
export interface AppendNotice {
  sessionId: string
  eventId: string
}

/** An entry of the key-value table. Each write of a key gives it a version that no key had before. */
export interface KvEntry {
  key: string
  value: Json
  version: number
}

/** Small records that are compared before they are set. */
export interface Kv {
  get(key: string): Promise<KvEntry | null>
  /**
   * Compare and set: `expected` is the version that was read, or `null` for a key that must not exist. `value: null` deletes.
   * Returns whether it was written; then `act` is added to the audit in the same transaction.
   */
  put(key: string, value: Json | null, expected: number | null, act?: AuditAct): Promise<boolean>
  /** All entries whose key begins with `prefix`, sorted by key. */
  list(prefix: string): Promise<KvEntry[]>
}

/** The folded state of a session after the event `seq`, so that a start need not fold the whole log. */
export interface Snapshot {
  seq: number
  /** The version of the format of `state`. A reader ignores others. */
  version: number
  state: Json
}

/** A consistent copy of a store, as the bytes of one file. */
export interface StoreCopy {
  bytes: number
  /** May be read once. */
  chunks: AsyncIterable<Uint8Array>
}

/**
 * Where the log is stored. Every method rejects with `unavailable` if the store is closed or cannot be reached. Keys under
 * `session/<sessionId>/` belong to that session and are deleted with it.
 */
export interface Store {
  /**
   * Whether other processes append to this store, too. Then the desk also polls it, because a doorbell from another process can be
   * lost.
   *
   * @default false
   */
  readonly shared?: boolean
  /**
   * The store's own time, for a store that several machines share. The desk uses it for every time it writes or compares, unless
   * it was given another clock. Closing the store stops it.
   *
   * @default the clock of the process
   */
  readonly clock?: SharedClock
  /** Resolves when the events are durable. Rejects with `unavailable` if they are not, or if that is not known. */
  append(append: Append): Promise<AppendResult>
  /** Events after `after`, ascending by `seq`; with `before` (exclusive) the last `limit` events before it. */
  read(query: { sessionId: string; after?: number; before?: number; limit: number }): Promise<SessionEvent[]>

  session(sessionId: string): Promise<SessionRow | null>
  /** Newest first. `updatedBefore` selects those whose last event is older than that time. */
  sessions(query: { after?: string; limit: number; updatedBefore?: number }): Promise<Page<SessionRow>>
  countSessions(): Promise<number>

  interaction(interactionId: string): Promise<Interaction | null>
  /** Every interaction of one tool call, oldest first. */
  interactionsOf(sessionId: string, toolCallId: string): Promise<Interaction[]>
  /** Pending interactions of all sessions or of one, oldest first. */
  pending(query: { sessionId?: string; after?: string; limit: number }): Promise<Page<Interaction>>
  countPending(): Promise<number>
  /** The number of pending interactions by session id, for each session that has any. */
  pendingCounts(): Promise<ReadonlyMap<string, number>>
  /** The deadlines of pending interactions; with `before` at least those that are earlier. */
  deadlines(query?: {
    before: number
  }): Promise<{ sessionId: string; interactionId: string; expiresAt: number }[]>
  /** Whether the log has the result of this tool call; `null` if it does not have the call. */
  toolCall(sessionId: string, toolCallId: string): Promise<{ ended: boolean } | null>

  /** Settlements and administrative acts in commit order. They stay when their session is erased, without `message`. */
  audit(query: { after?: string; limit: number }): Promise<Page<AuditRow>>
  /** Adds rows that an import cannot derive from events or keys. */
  addAudit(rows: AuditRow[]): Promise<void>
  /**
   * The appends to all sessions in commit order, after an opaque cursor; without one, from the beginning. In a shared store an
   * erasure is a change, too, without events, because other processes may have the session in their caches.
   */
  changes(query: { after?: string; limit: number }): Promise<Change[]>
  /** Like `changes`, but without events, for a cheap poll. Several changes of one session may be combined. */
  changedSessions?(query: { after: string; limit: number }): Promise<ChangeNotice[]>
  /** The cursor of the newest change: `changes` after it are those appended from now on. */
  head(): Promise<string>

  kv: Kv
  /** For stores to which several processes append, so that a slow one is not starved by conflicts. */
  locks?: SessionLocks

  loadSnapshot(sessionId: string): Promise<Snapshot | null>
  /** Does nothing if the session has no such log, or the log is shorter than the snapshot. */
  saveSnapshot(sessionId: string, snapshot: Snapshot, logId?: string): Promise<void>

  /**
   * Erases the session: its log, snapshot, indexes and keys. Audit rows stay, without `message`. With `logId` it does nothing if
   * the session has another log by now.
   */
  erase(sessionId: string, logId?: string): Promise<void>

  /**
   * Passes a consistent copy to `take`, with every write that was acknowledged before the call, and resolves when `take` has
   * resolved. Appends continue meanwhile. Only a store that is a file implements it.
   */
  copy?(take: (copy: StoreCopy) => Promise<void>): Promise<void>

  /** The doorbell: calls the listener after each commit of this process. Returns a function that removes the listener. */
  onAppend(listener: (notice: AppendNotice) => void): () => void
  close(): Promise<void>
}
