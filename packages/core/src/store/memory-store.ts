import { AskbackError } from '@askback/protocol'
import { indexAfter, type Placed } from './by-place.js'
import { doorbell } from './doorbell.js'
import { MemoryKv } from './memory-kv.js'
import { MemoryLog, rowOf, updatedAt } from './memory-log.js'
import { checkAppend, interactionFrom, placeOfCursor } from './records.js'
import type { Append, AppendResult, Page, Ring, Store } from './store.js'

/** Keeps everything in the heap and nothing beyond it. It keeps the events it is given: they must not change later. */
export function memoryStore(): Store {
  const log = new MemoryLog()
  const kv = new MemoryKv(() => log.nextPlace())
  const bell = doorbell<Ring>()
  const locks = new Map<string, { owner: string; until: number }>()
  let closed = false

  function open(): void {
    if (closed) throw closedError()
  }

  /** Writes wait for their microtask, in order, so that a caller sees nothing before it lets go, as with a disk. */
  const itsTurn = Promise.resolve()

  /** Not an async function, which would cost as much as a small change does. */
  function write<T>(change: () => T): Promise<T> {
    return closed ? Promise.reject(closedError()) : itsTurn.then(change)
  }

  function commit(append: Append): AppendResult {
    const { sessionId, expectedSeq, events, logId, kv: writes = [], fence, lockOwner } = append
    if (isLocked(sessionId, lockOwner)) return { ok: false, conflict: 'locked' }
    const seq = log.sessions.get(sessionId)?.events.length ?? 0
    if (seq !== expectedSeq || isAnother(sessionId, logId)) return { ok: false, conflict: 'seq' }
    if (fence && kv.version(fence.key) !== fence.version) return { ok: false, conflict: 'fence' }
    if (!kv.allows(writes)) return { ok: false, conflict: 'kv' }
    log.append(sessionId, events)
    for (const { key, value } of writes) kv.write(key, value)
    if (lockOwner !== undefined) locks.delete(sessionId)
    return { ok: true }
  }

  /** By another than this owner. */
  function isLocked(sessionId: string, owner: string | undefined): boolean {
    const lock = locks.get(sessionId)
    return lock !== undefined && lock.owner !== owner && lock.until > Date.now()
  }

  function isAnother(sessionId: string, logId: string | undefined): boolean {
    const first = logId === undefined ? undefined : log.sessions.get(sessionId)?.events[0]
    return first !== undefined && first.id !== logId
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
      open()
      const events = log.sessions.get(sessionId)?.events ?? []
      if (before === undefined) return events.slice(after, after + limit)
      const end = Math.max(Math.min(before - 1, events.length), 0)
      return events.slice(Math.max(after, end - limit, 0), end)
    },

    async session(sessionId) {
      open()
      const session = log.sessions.get(sessionId)
      return session ? rowOf(session) : null
    },
    async sessions({ after, limit, updatedBefore = Infinity }) {
      open()
      const older = log.inOrder.slice(
        0,
        after === undefined ? undefined : indexAfter(log.inOrder, placeOfCursor(after) - 1),
      )
      const found = older.reverse().filter((session) => updatedAt(session) < updatedBefore)
      return page(found.slice(0, limit + 1), limit, rowOf)
    },
    async countSessions() {
      open()
      return log.sessions.size
    },

    async interaction(interactionId) {
      open()
      const asked = log.interactions.get(interactionId)
      return asked ? interactionFrom(asked) : null
    },
    async interactionsOf(sessionId, toolCallId) {
      open()
      return [log.sessions.get(sessionId)?.asked.get(toolCallId) ?? []].flat().map(interactionFrom)
    },
    async pending({ sessionId, after = '0', limit }) {
      open()
      const list = sessionId === undefined ? log.pending : log.sessions.get(sessionId)?.pending
      return page(list?.after(placeOfCursor(after), limit + 1) ?? [], limit, interactionFrom)
    },
    async countPending() {
      open()
      return log.pending.size
    },
    async pendingCounts() {
      open()
      const counts = new Map<string, number>()
      for (const { request } of log.pending.after(0, Infinity))
        counts.set(request.sessionId, (counts.get(request.sessionId) ?? 0) + 1)
      return counts
    },
    async deadlines() {
      open()
      return log.pending
        .after(0, Infinity)
        .flatMap(({ request: { sessionId, interactionId, expiresAt } }) =>
          expiresAt === undefined ? [] : [{ sessionId, interactionId, expiresAt }],
        )
    },
    async toolCall(sessionId, toolCallId) {
      open()
      const ended = log.sessions.get(sessionId)?.toolCalls.get(toolCallId)
      return ended === undefined ? null : { ended }
    },

    async audit({ after = '0', limit }) {
      open()
      const start = placeOfCursor(after)
      const end = start + limit
      return { items: log.audit.slice(start, end), next: end < log.audit.length ? String(end) : null }
    },
    addAudit: (rows) => write(() => void log.audit.push(...rows)),
    async changes({ after = '0', limit }) {
      open()
      return log.changes(placeOfCursor(after), limit).map(({ place, session, from, to }) => ({
        cursor: String(place),
        sessionId: session.info.id,
        events: session.events.slice(from, to),
      }))
    },
    async head() {
      open()
      return String(log.commits.at(-1)?.place ?? 0)
    },

    kv: {
      async get(key) {
        open()
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
        open()
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
      open()
      return log.sessions.get(sessionId)?.snapshot ?? null
    },
    saveSnapshot: (sessionId, snapshot, logId) =>
      write(() => {
        const session = log.sessions.get(sessionId)
        if (isAnother(sessionId, logId)) return
        if (!session || snapshot.seq > session.events.length || snapshot.seq < (session.snapshot?.seq ?? 0))
          return
        session.snapshot = snapshot
      }),

    erase: (sessionId, logId) =>
      write(() => {
        if (isAnother(sessionId, logId)) return
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

/** `found` holds one more than the page if there is another page. */
function page<T extends Placed, Item>(found: T[], limit: number, view: (item: T) => Item): Page<Item> {
  const items = found.slice(0, limit)
  return { items: items.map(view), next: found.length > limit ? String(items.at(-1)!.place) : null }
}
