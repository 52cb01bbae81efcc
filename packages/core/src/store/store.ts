import type { AuditAct, AuditRow, Interaction, Json, Session, SessionEvent } from '@askback/protocol'
import type { SharedClock } from './store-clock.js'

export interface KvWrite {
  key: string
  /** `null` deletes. */
  value: Json | null
  /** Refuses the whole append, as a conflict, if the key exists. */
  ifAbsent?: boolean
}

export interface Append {
  sessionId: string
  /** The `seq` that this append was decided on. The first append of a session expects 0. */
  expectedSeq: number
  /** `expectedSeq + 1`, `+ 2`, … ; at least one. */
  events: SessionEvent[]
  /** The same as JSON, one text each, for a store that keeps text. */
  texts?: (() => string[]) | undefined
  /** The id of the first event of the log that it was decided on. If the session was made anew since, that is a conflict. */
  logId?: string
  /** Written in the same transaction. */
  kv?: KvWrite[] | undefined
  /** Refuses the append if the key is no longer of this version: whoever wrote it anew has taken over. */
  fence?: Fence | undefined
  /** Who holds the lock of the session, if it is the caller; the append releases it. */
  lockOwner?: string | undefined
}

/**
 * A lock that makes way for one append: while it is held, appends of others to the session are refused as `locked`. It ends
 * by itself after a time by the store's own clock.
 */
export interface SessionLocks {
  /** Whether the owner has it now. */
  acquire(sessionId: string, owner: string, ms: number): Promise<boolean>
  release(sessionId: string, owner: string): Promise<void>
}

export interface Fence {
  key: string
  version: number
}

export interface Fenced {
  /** Of the agent that writes, if this process runs it. */
  fence?: Fence | undefined
}

/** A conflict is an outcome, not an error: whoever decided reads again and decides again. */
export type AppendResult = { ok: true } | { ok: false; conflict: 'seq' | 'kv' | 'fence' | 'locked' }

export interface Page<T> {
  items: T[]
  /** Opaque; pass it as `after` for the next page. `null` at the end. */
  next: string | null
}

export interface SessionRow extends Session {
  updatedAt: number
}

export interface Change {
  cursor: string
  sessionId: string
  events: SessionEvent[]
}

/** That something happened in a session: an append, or its erasure. */
export interface News {
  cursor: string
  sessionId: string
  /** How far which log reaches, so that whoever knows that much of it need not look. */
  reaches?: { logId: string; seq: number }
}

/** Whoever hears it reads the log after its own cursor. `eventId`, the last event's, only lets a writer know its own. */
export interface Ring {
  sessionId: string
  eventId: string
}

export interface KvEntry {
  key: string
  value: Json
  version: number
}

export interface Kv {
  get(key: string): Promise<KvEntry | null>
  /**
   * Compare-and-set: `expected` is the version read, or `null` for a key that must not exist. `value: null` deletes.
   * If the key is written, `act` is added to the audit in the same transaction.
   */
  put(key: string, value: Json | null, expected: number | null, act?: AuditAct): Promise<boolean>
  /** In the order of the keys. */
  list(prefix: string): Promise<KvEntry[]>
}

export interface Snapshot {
  seq: number
  version: number
  state: Json
}

/** A store as the bytes of one file. */
export interface StoreCopy {
  bytes: number
  /** Read once. */
  chunks: AsyncIterable<Uint8Array>
}

/**
 * Where the log lives. Every index below is kept in the same transaction as the append that changes it. Keys under
 * `session/<sessionId>/` belong to that session and go when it is erased.
 */
export interface Store {
  /** Whether other processes may append too. Then a slow poll backs up the doorbell. */
  readonly shared?: boolean
  /**
   * The store's own time, for a store that several machines share: whatever is stamped or compared there goes by it, unless a
   * clock is given. Without it each process goes by its own clock. It ends with the store.
   */
  readonly clock?: SharedClock
  /** Resolves when it is durable. Rejects with `unavailable` if it is not, or if that cannot be known. */
  append(append: Append): Promise<AppendResult>
  /** Ascending by `seq`. With `before` (exclusive) the last `limit` events that come before it. */
  read(query: { sessionId: string; after?: number; before?: number; limit: number }): Promise<SessionEvent[]>

  session(sessionId: string): Promise<SessionRow | null>
  /** Newest first. `updatedBefore` keeps those that were last appended to before that time. */
  sessions(query: { after?: string; limit: number; updatedBefore?: number }): Promise<Page<SessionRow>>
  countSessions(): Promise<number>

  interaction(interactionId: string): Promise<Interaction | null>
  /** Every interaction of one tool call, oldest first. */
  interactionsOf(sessionId: string, toolCallId: string): Promise<Interaction[]>
  /** Oldest first, over all sessions or one. */
  pending(query: { sessionId?: string; after?: string; limit: number }): Promise<Page<Interaction>>
  countPending(): Promise<number>
  /** How many are pending in each session that has any, by session id. */
  pendingCounts(): Promise<ReadonlyMap<string, number>>
  /** Every pending interaction that has one; with `before` at least those that end before it. */
  deadlines(query?: {
    before: number
  }): Promise<{ sessionId: string; interactionId: string; expiresAt: number }[]>
  /** Whether the log holds this tool call, and its result. */
  toolCall(sessionId: string, toolCallId: string): Promise<{ ended: boolean } | null>

  /** Settlements and acts in commit order; they outlive their session, without `message`. */
  audit(query: { after?: string; limit: number }): Promise<Page<AuditRow>>
  /** Rows that follow from no log and no key of this store, as another store had them. */
  addAudit(rows: AuditRow[]): Promise<void>
  /**
   * All sessions in commit order, after an opaque cursor; without one, from the beginning. In a shared store an erasure
   * is a change, too, without events: other processes may hold what is gone.
   */
  changes(query: { after?: string; limit: number }): Promise<Change[]>
  /** What `changes` holds, by ids only, for a look that costs little; some of a session's may be told as one. */
  news?(query: { after: string; limit: number }): Promise<News[]>
  /** The cursor of the newest change: `changes` after it holds only what is appended from now on. */
  head(): Promise<string>

  kv: Kv
  /** Where other processes append, too: lets a slow one have its turn. */
  locks?: SessionLocks

  loadSnapshot(sessionId: string): Promise<Snapshot | null>
  /** With `logId` only if that is still its log. */
  saveSnapshot(sessionId: string, snapshot: Snapshot, logId?: string): Promise<void>

  /**
   * Forgets the session: log, snapshot, indexes and keys. Audit rows stay, without `message`. With `logId` only if that is
   * still its log, and not one made anew.
   */
  erase(sessionId: string, logId?: string): Promise<void>

  /**
   * Hands over a consistent copy that holds everything acknowledged before the call, and resolves when `take` has. Appends
   * go on meanwhile. Only a store that is a file has this.
   */
  copy?(take: (copy: StoreCopy) => Promise<void>): Promise<void>

  /** The doorbell: after each commit, ids only. */
  onAppend(listener: (ring: Ring) => void): () => void
  close(): Promise<void>
}
