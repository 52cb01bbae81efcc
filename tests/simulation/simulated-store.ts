import type { Append, KvEntry, Store } from '@askback/core'
import type { Json } from '@askback/protocol'
import type { StoreConnection } from './store-connection.js'
import type { SimulatedLocks } from './session-locks.js'
import type { SharedChanges } from './shared-changes.js'

/** The shared store as one process sees it: every call goes over the connection of that process. */
export function simulatedStore(options: {
  disk: Store
  connection: StoreConnection
  /** The session locks of the shared store; `null` where only one process uses it. */
  locks: SimulatedLocks | null
  changes: SharedChanges
  /** Whether it implements `changedSessions`. */
  hasChangedSessions: boolean
  onAppend: Store['onAppend']
  /** Called at the moment the append takes effect. */
  committed: (append: Append) => Promise<void>
  /** Called when the process gets the reply to its append. */
  replied: (append: Append, committed: boolean) => void
  erased: (sessionId: string) => void
  /** Called after a key was written, with its value before. */
  put: (after: { key: string; value: Json | null }, before: KvEntry | null) => Promise<void>
}): Store {
  const { disk, connection, locks, changes, onAppend, committed, replied, erased, put } = options
  const read = <T>(name: string, work: () => Promise<T>) => connection.submit({ name }, work)
  const write = <T>(name: string, work: () => Promise<T>) => connection.submit({ name, writes: true }, work)
  return {
    ...(locks && {
      shared: true,
      locks: {
        acquire: (id, owner, ms) => write(`lock ${id} ${owner}`, () => locks.acquire(id, owner, ms)),
        release: (id, owner) => write(`unlock ${id} ${owner}`, () => locks.release(id, owner)),
      },
    }),
    append(append) {
      const { sessionId, expectedSeq, events } = append
      const name = `append ${sessionId}@${expectedSeq} ${events.map(({ type }) => type).join(' ')}`
      let ok = false
      return connection.submit(
        { name, lane: sessionId, writes: true, replied: (known) => replied(append, known && ok) },
        async () => {
          if (locks?.refuses(append)) return { ok: false, conflict: 'locked' } as const
          const { lockOwner: _, ...rest } = append
          const result = await disk.append(rest)
          ok = result.ok
          if (!ok) return result
          locks?.committed(append)
          // Committed events are immutable: a later change would be a bug.
          for (const event of events) Object.freeze(event)
          await committed(append)
          return result
        },
      )
    },
    read: (query) => read(`read ${query.sessionId}>${query.after}`, () => disk.read(query)),
    session: (id) => read(`session ${id}`, () => disk.session(id)),
    sessions: (query) => read('sessions', () => disk.sessions(query)),
    countSessions: () => read('countSessions', () => disk.countSessions()),
    interaction: (id) => read(`interaction ${id}`, () => disk.interaction(id)),
    interactionsOf: (id, call) => read(`interactionsOf ${id} ${call}`, () => disk.interactionsOf(id, call)),
    pending: (query) => read('pending', () => disk.pending(query)),
    countPending: () => read('countPending', () => disk.countPending()),
    pendingCounts: () => read('pendingCounts', () => disk.pendingCounts()),
    deadlines: (query) =>
      read('deadlines', async () =>
        // The contract allows a store to leave out deadlines that were not asked for, so this one does.
        (await disk.deadlines()).filter(({ expiresAt }) => expiresAt < (query?.before ?? Infinity)),
      ),
    toolCall: (id, call) => read(`toolCall ${id} ${call}`, () => disk.toolCall(id, call)),
    audit: (query) => read('audit', () => disk.audit(query)),
    addAudit: (rows) => write('addAudit', () => disk.addAudit(rows)),
    changes: (query) => read(`changes >${query.after}`, () => changes.changes(query)),
    ...(options.hasChangedSessions && {
      changedSessions: (query: { after: string; limit: number }) =>
        read(`changed >${query.after}`, () => changes.changedSessions(query)),
    }),
    head: () => read('head', () => changes.head()),
    kv: {
      get: (key) => read(`get ${key}`, () => disk.kv.get(key)),
      put: (key, value, expected, act) =>
        write(`put ${key}`, async () => {
          const before = await disk.kv.get(key)
          const isPut = await disk.kv.put(key, value, expected, act)
          if (isPut) await put({ key, value }, before)
          return isPut
        }),
      list: (prefix) => read(`list ${prefix}`, () => disk.kv.list(prefix)),
    },
    loadSnapshot: (id) => read(`loadSnapshot ${id}`, () => disk.loadSnapshot(id)),
    saveSnapshot: (id, snapshot, logId) =>
      write(`saveSnapshot ${id}@${snapshot.seq}`, () => disk.saveSnapshot(id, snapshot, logId)),
    erase: (id, logId) =>
      write(`erase ${id} ${logId}`, async () => {
        await disk.erase(id, logId)
        if (!(await disk.session(id))) erased(id)
      }),
    onAppend,
    close: () => Promise.resolve(),
  }
}
