import { AskbackError, copyJson, type Json } from '@askback/protocol'
import { createDoorbell } from './doorbell.js'
import { indexAfter, MemoryLog, rowOf, updatedAt, type LoggedSession } from './memory-log.js'
import { checkAppend, buildInteraction, indexedDeadline, pageOf, parseCursor, tagsKey } from './records.js'
import type { Append, AppendResult, KvEntry, KvWrite, AppendNotice, SessionRow, Store } from './store.js'

/**
 * A store in the memory of this process, for tests, the playground and embedders that need no durability: all of it is lost when
 * the process ends. It does not copy the events it gets, so a caller must not change them afterwards.
 *
 * @example
 * const desk = createDesk({ store: memoryStore() })
 */
export function memoryStore(): Store {
  const log = new MemoryLog()
  const kv = new MemoryKv(() => log.nextPosition())
  const bell = createDoorbell<AppendNotice>()
  const locks = new Map<string, { owner: string; until: number }>()
  let closed = false

  function throwIfClosed(): void {
    if (closed) throw closedError()
  }

  /** A write runs in a microtask, in order: as with a disk, the caller does not see it before it awaits. */
  const microtask = Promise.resolve()

  /** Not an async function, which would take as long as a small write. */
  function write<T>(change: () => T): Promise<T> {
    return closed ? Promise.reject(closedError()) : microtask.then(change)
  }

  function commit(append: Append): AppendResult {
    const { sessionId, expectedSeq, events, logId, kv: writes, fence, lockOwner } = append
    if (isLocked(sessionId, lockOwner)) return { ok: false, conflict: 'locked' }
    const seq = log.sessions.get(sessionId)?.events.length ?? 0
    if (seq !== expectedSeq || isOtherLog(sessionId, logId)) return { ok: false, conflict: 'seq' }
    if (fence && kv.version(fence.key) !== fence.version) return { ok: false, conflict: 'fence' }
    if (writes && !kv.allows(writes)) return { ok: false, conflict: 'kv' }
    log.append(sessionId, events)
    if (writes) for (const { key, value } of writes) kv.write(key, value)
    if (lockOwner !== undefined) locks.delete(sessionId)
    return { ok: true }
  }

  /** Whether somebody other than `owner` has locked the session. */
  function isLocked(sessionId: string, owner: string | undefined): boolean {
    const lock = locks.size === 0 ? undefined : locks.get(sessionId)
    return lock !== undefined && lock.owner !== owner && lock.until > Date.now()
  }

  /** Whether the session was erased and started again since the caller read the log `logId`. */
  function isOtherLog(sessionId: string, logId: string | undefined): boolean {
    const first = logId === undefined ? undefined : log.sessions.get(sessionId)?.events[0]
    return first !== undefined && first.id !== logId
  }

  function row(session: LoggedSession): SessionRow {
    return rowOf(session, kv.get(tagsKey(session.info.id))?.value)
  }

  return {
    append: (append) =>
      write(() => {
        checkAppend(append)
        const result = commit(append)
        if (result.ok) bell.ring({ sessionId: append.sessionId, eventId: append.events.at(-1)!.id })
        return result
      }),
    async read({ sessionId, after = 0, before, limit }) {
      throwIfClosed()
      const events = log.sessions.get(sessionId)?.events ?? []
      if (before === undefined) return events.slice(after, after + limit)
      const end = Math.max(Math.min(before - 1, events.length), 0)
      return events.slice(Math.max(after, end - limit, 0), end)
    },

    async session(sessionId) {
      throwIfClosed()
      const session = log.sessions.get(sessionId)
      return session ? row(session) : null
    },
    async sessions({ after, limit, updatedBefore = Infinity }) {
      throwIfClosed()
      const older = log.byAge.slice(
        0,
        after === undefined ? undefined : indexAfter(log.byAge, parseCursor(after) - 1),
      )
      const found = older.reverse().filter((session) => updatedAt(session) < updatedBefore)
      return pageOf(found.slice(0, limit + 1), limit, positionOf, row)
    },
    async countSessions() {
      throwIfClosed()
      return log.sessions.size
    },

    async interaction(interactionId) {
      throwIfClosed()
      const interaction = log.interactions.get(interactionId)
      return interaction ? buildInteraction(interaction) : null
    },
    async interactionsOf(sessionId, toolCallId) {
      throwIfClosed()
      return [log.sessions.get(sessionId)?.interactions.get(toolCallId) ?? []].flat().map(buildInteraction)
    },
    async pending({ sessionId, after = '0', limit }) {
      throwIfClosed()
      const list = sessionId === undefined ? log.pending : log.sessions.get(sessionId)?.pending
      return pageOf(list?.after(parseCursor(after), limit + 1) ?? [], limit, positionOf, buildInteraction)
    },
    async countPending() {
      throwIfClosed()
      return log.pending.size
    },
    async pendingCounts() {
      throwIfClosed()
      const counts = new Map<string, number>()
      for (const { request } of log.pending.after(0, Infinity))
        counts.set(request.sessionId, (counts.get(request.sessionId) ?? 0) + 1)
      return counts
    },
    async deadlines() {
      throwIfClosed()
      return log.pending.after(0, Infinity).flatMap(({ request }) => {
        const expiresAt = indexedDeadline(request)
        const { sessionId, interactionId } = request
        return expiresAt === null ? [] : [{ sessionId, interactionId, expiresAt }]
      })
    },
    async toolCall(sessionId, toolCallId) {
      throwIfClosed()
      const ended = log.sessions.get(sessionId)?.toolCalls.get(toolCallId)
      return ended === undefined ? null : { ended }
    },

    async audit({ after = '0', limit }) {
      throwIfClosed()
      const start = parseCursor(after)
      const end = start + limit
      return { items: log.audit.slice(start, end), next: end < log.audit.length ? String(end) : null }
    },
    addAudit: (rows) => write(() => void log.audit.push(...rows)),
    async changes({ after = '0', limit }) {
      throwIfClosed()
      return log.changes(parseCursor(after), limit).map(({ position, session, from, to }) => ({
        cursor: String(position),
        sessionId: session.info.id,
        events: session.events.slice(from, to),
      }))
    },
    async head() {
      throwIfClosed()
      return String(log.commits.at(-1)?.position ?? 0)
    },

    kv: {
      async get(key) {
        throwIfClosed()
        return kv.get(key)
      },
      put: (key, value, expected, act) =>
        write(() => {
          if (kv.version(key) !== expected) return false
          kv.write(key, value)
          if (act) log.audit.push(act)
          return true
        }),
      async list(prefix) {
        throwIfClosed()
        return kv.list(prefix)
      },
    },

    locks: {
      acquire: (sessionId, owner, ms) =>
        write(() => {
          if (isLocked(sessionId, owner)) return false
          locks.set(sessionId, { owner, until: Date.now() + ms })
          return true
        }),
      release: (sessionId, owner) =>
        write(() => void (locks.get(sessionId)?.owner === owner && locks.delete(sessionId))),
    },

    async loadSnapshot(sessionId) {
      throwIfClosed()
      return log.sessions.get(sessionId)?.snapshot ?? null
    },
    saveSnapshot: (sessionId, snapshot, logId) =>
      write(() => {
        const session = log.sessions.get(sessionId)
        if (isOtherLog(sessionId, logId)) return
        if (!session || snapshot.seq > session.events.length || snapshot.seq < (session.snapshot?.seq ?? 0))
          return
        session.snapshot = snapshot
      }),

    erase: (sessionId, logId) =>
      write(() => {
        if (isOtherLog(sessionId, logId)) return
        log.erase(sessionId)
        kv.erase(`session/${sessionId}/`)
      }),

    onAppend: (listener) => bell.on(listener),
    async close() {
      closed = true
      await Promise.resolve()
    },
  }
}

function closedError(): AskbackError {
  return new AskbackError('unavailable', 'The store is closed.')
}

function positionOf({ position }: { position: number }): number {
  return position
}

/** Versions never repeat, so that a key that was deleted and written again does not look unchanged. */
class MemoryKv {
  readonly #entries = new Map<string, { value: Json; version: number }>()
  readonly #nextVersion: () => number

  constructor(nextVersion: () => number) {
    this.#nextVersion = nextVersion
  }

  allows(writes: KvWrite[]): boolean {
    return !writes.some((write) => write.ifAbsent && this.#entries.has(write.key))
  }

  write(key: string, value: Json | null): void {
    if (value === null) this.#entries.delete(key)
    else this.#entries.set(key, { value: copyJson(value), version: this.#nextVersion() })
  }

  version(key: string): number | null {
    return this.#entries.get(key)?.version ?? null
  }

  get(key: string): KvEntry | null {
    const entry = this.#entries.get(key)
    return entry ? { key, value: copyJson(entry.value), version: entry.version } : null
  }

  list(prefix: string): KvEntry[] {
    const keys = [...this.#entries.keys()].filter((key) => key.startsWith(prefix))
    return keys.sort().map((key) => this.get(key)!)
  }

  erase(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.#entries.delete(key)
  }
}
