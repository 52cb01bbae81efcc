import { checkAppend, doorbell, placeOfCursor, type Ring, type Store } from '@askback/core'
import { AskbackError } from '@askback/protocol'
import type { Connection } from './connection.js'
import { erasure } from './erasure.js'
import { failure } from './failure.js'
import { groupCommit } from './group-commit.js'
import { kvTable } from './kv.js'
import { logReader } from './log-reader.js'
import { logWriter, type Head } from './log-writer.js'
import { openDatabase } from './open.js'
import { places } from './places.js'
import { tables } from './tables.js'

export interface SqliteStoreOptions {
  /** The database file. It is made if it is missing; its folder is not. */
  path: string
  /**
   * Where many write at once, another thread waits for the disk: for a process that has other work to do meanwhile, as a
   * server has. One that only waits for its writes is faster without.
   */
  commitAside?: boolean
}

/** One file, one process. What is acknowledged has been synced to the disk. */
export function sqliteStore(options: SqliteStoreOptions): Store {
  const { path } = Object(options) as Partial<SqliteStoreOptions>
  if (typeof path !== 'string' || path === '')
    throw new AskbackError('invalid_request', 'A store needs the path of its database file.')
  const db = openDatabase(path)
  try {
    return storeOn(db, options)
  } catch (error) {
    db.close()
    throw failure(error, db.path)
  }
}

export function storeOn(db: Connection, { commitAside = false }: { commitAside?: boolean } = {}): Store {
  const numbers = places(db)
  const kv = kvTable(db, numbers)
  const writer = logWriter(db, numbers, kv)
  const reader = logReader(db)
  const table = tables(db)
  const eraser = erasure(db)
  const bell = doorbell<Ring>()
  const group = groupCommit(db, {
    aside: commitAside,
    onRollback() {
      numbers.forget()
      writer.forget()
    },
  })
  let closed = false

  function open(): void {
    if (closed) throw new AskbackError('unavailable', 'The store is closed.')
  }

  async function read<T>(query: () => T): Promise<T> {
    while (group.committing) await group.committing
    open()
    try {
      return query()
    } catch (error) {
      throw failure(error, db.path)
    }
  }

  /** For a session that the store knows; `otherwise` for any other. */
  function readOf<T>(sessionId: string, otherwise: T, query: (head: Head) => T): Promise<T> {
    return read(() => {
      const head = writer.head(sessionId)
      return head ? query(head) : otherwise
    })
  }

  async function write<T>(change: () => T): Promise<T> {
    open()
    return group.submit(change)
  }

  async function purge(session: number): Promise<void> {
    while (!(await write(() => eraser.purge(session))));
    await read(() => eraser.checkpoint())
  }

  // Nobody waits for these; what fails now is found again at the next start.
  for (const session of eraser.unfinished()) purge(session).catch(() => undefined)

  return {
    async append(append) {
      checkAppend(append)
      const body = append.texts ? `[${append.texts().join(',')}]` : JSON.stringify(append.events)
      const result = await write(() => writer.append(append, body))
      if (result.ok) bell.ring({ sessionId: append.sessionId, eventId: append.events.at(-1)!.id })
      return result
    },
    read: (query) => readOf(query.sessionId, [], (head) => reader.read(head, query)),

    session: (sessionId) => read(() => table.session(sessionId)),
    sessions: (query) => read(() => table.sessions(query)),
    countSessions: () => read(() => table.countSessions()),

    interaction: (interactionId) => read(() => reader.interaction(interactionId)),
    interactionsOf: (sessionId, toolCallId) =>
      readOf(sessionId, [], ({ key }) => reader.interactionsOf(key, toolCallId)),
    pending({ sessionId, after = '0', limit }) {
      if (sessionId === undefined) return read(() => reader.pending({ after: placeOfCursor(after), limit }))
      const none = { items: [], next: null }
      return readOf(sessionId, none, ({ key }) =>
        reader.pending({ session: key, after: placeOfCursor(after), limit }),
      )
    },
    countPending: () => read(() => table.countPending()),
    pendingCounts: () => read(() => table.pendingCounts()),
    deadlines: () => read(() => table.deadlines()),
    toolCall: (sessionId, toolCallId) =>
      readOf(sessionId, null, ({ key }) => table.toolCall(key, toolCallId)),

    audit: ({ after = '0', limit }) => read(() => table.audit(placeOfCursor(after), limit)),
    addAudit: (rows) => write(() => writer.addAudit(rows)),
    changes: ({ after = '0', limit }) => read(() => reader.changes(placeOfCursor(after), limit)),
    head: () => read(() => String(reader.newest())),

    kv: {
      get: (key) => read(() => kv.get(key)),
      put: (key, value, expected, act) =>
        write(() => {
          const isWritten = kv.put(key, value, expected)
          if (isWritten && act) writer.addAudit([act])
          return isWritten
        }),
      list: (prefix) => read(() => kv.list(prefix)),
    },

    loadSnapshot: (sessionId) => readOf(sessionId, null, ({ key }) => table.loadSnapshot(key)),
    saveSnapshot: (sessionId, snapshot, logId) =>
      write(() => {
        const head = writer.head(sessionId)
        const [first] = head && logId !== undefined ? reader.read(head, { limit: 1 }) : []
        if (first && first.id !== logId) return
        if (head && snapshot.seq <= head.seq) table.saveSnapshot(head.key, snapshot)
      }),

    async erase(sessionId, logId) {
      const session = await write(() => {
        const head = writer.head(sessionId)
        const [first] = head && logId !== undefined ? reader.read(head, { limit: 1 }) : []
        if (first && first.id !== logId) return undefined
        kv.erase(`session/${sessionId}/`)
        if (head) eraser.hide(head.key)
        writer.forget(sessionId)
        return head?.key
      })
      if (session !== undefined) await purge(session)
    },

    onAppend: (listener) => bell.on(listener),
    async close() {
      if (closed) return
      closed = true
      await group.drained()
      db.close()
    },
  }
}
