import type { Append, Store } from '@askback/core'
import type { Line } from './line.js'

/** A process's own view of the store that all of them share: every call goes over its line. */
export function simulatedStore(options: {
  disk: Store
  line: Line
  shared: boolean
  /** Of the processes that share the store. */
  changes: Pick<Store, 'changes' | 'head'>
  onAppend: Store['onAppend']
  /** Takes effect with the append it is about. */
  committed: (append: Append) => void
  /** The process has heard how its append ended. */
  told: (append: Append, committed: boolean) => void
  erased: (sessionId: string) => void
}): Store {
  const { disk, line, shared, changes, onAppend, committed, told, erased } = options
  const read = <T>(name: string, work: () => Promise<T>) => line.submit({ name }, work)
  const write = <T>(name: string, work: () => Promise<T>) => line.submit({ name, writes: true }, work)
  return {
    ...(shared && { shared }),
    append(append) {
      const { sessionId, expectedSeq, events } = append
      const name = `append ${sessionId}@${expectedSeq} ${events.map(({ type }) => type).join(' ')}`
      let ok = false
      return line.submit(
        { name, lane: sessionId, writes: true, told: (known) => told(append, known && ok) },
        async () => {
          const result = await disk.append(append)
          ok = result.ok
          // What is in the log stays as it is.
          if (ok) for (const event of events) Object.freeze(event)
          if (ok) committed(append)
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
    deadlines: () => read('deadlines', () => disk.deadlines()),
    toolCall: (id, call) => read(`toolCall ${id} ${call}`, () => disk.toolCall(id, call)),
    audit: (query) => read('audit', () => disk.audit(query)),
    addAudit: (rows) => write('addAudit', () => disk.addAudit(rows)),
    changes: (query) => read(`changes >${query.after}`, () => changes.changes(query)),
    head: () => read('head', () => changes.head()),
    kv: {
      get: (key) => read(`get ${key}`, () => disk.kv.get(key)),
      put: (key, value, expected, act) => write(`put ${key}`, () => disk.kv.put(key, value, expected, act)),
      list: (prefix) => read(`list ${prefix}`, () => disk.kv.list(prefix)),
    },
    loadSnapshot: (id) => read(`loadSnapshot ${id}`, () => disk.loadSnapshot(id)),
    saveSnapshot: (id, snapshot) =>
      write(`saveSnapshot ${id}@${snapshot.seq}`, () => disk.saveSnapshot(id, snapshot)),
    erase: (id, logId) =>
      write(`erase ${id} ${logId}`, async () => {
        await disk.erase(id, logId)
        if (!(await disk.session(id))) erased(id)
      }),
    onAppend,
    close: () => Promise.resolve(),
  }
}
