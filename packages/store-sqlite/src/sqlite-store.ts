import { checkAppend, doorbell, placeOfCursor, type Ring, type Store } from '@askback/core'
import { AskbackError } from '@askback/protocol'
import { existsSync, rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { checkpoints, DEFAULT_EVERY_MS, DEFAULT_FRAMES, type CheckpointOptions } from './checkpoints.js'
import { IncompleteError } from './completeness.js'
import { copying } from './copy.js'
import { erasure } from './erasure.js'
import { failure } from './failure.js'
import { groupCommit } from './group-commit.js'
import { journalFile } from './journal.js'
import { kvTable } from './kv.js'
import { logReader } from './log-reader.js'
import { logWriter, type Head } from './log-writer.js'
import { openDatabase, type OpenDatabase } from './open.js'
import { places } from './places.js'
import { tables } from './tables.js'
import { vacuum, VACUUM_PAUSE_MS } from './vacuum.js'

export interface SqliteStoreOptions {
  /** The database file. It is made if it is missing; its folder is not. */
  path: string
  /**
   * Where many write at once, another thread waits for the disk: for a process that has other work to do meanwhile, as a
   * server has. One that only waits for its writes is faster without.
   */
  commitAside?: boolean
  /**
   * How long after a write the main file holds it, at the latest, in milliseconds. Until then it is in the journal beside
   * it, just as durable.
   *
   * @default 5000
   */
  checkpointMs?: number
}

/** One file, one process. What is acknowledged has been synced to the disk. */
export function sqliteStore(options: SqliteStoreOptions): Store {
  const { path, commitAside = false, checkpointMs } = Object(options) as Partial<SqliteStoreOptions>
  if (typeof path !== 'string' || path === '')
    throw new AskbackError('invalid_request', 'A store needs the path of its database file.')
  const db = openDatabase(path)
  try {
    return storeOn(db, {
      commitAside,
      ...(checkpointMs !== undefined && { checkpoint: { everyMs: checkpointMs } }),
    })
  } catch (error) {
    db.close()
    throw failure(error, db.path)
  }
}

/**
 * Makes a database usable that lost what was acknowledged, as it is: the next start does not refuse it. Returns what the
 * start would have said, or `null` if there was nothing to accept.
 */
export function acceptLoss(path: string): string | null {
  try {
    openDatabase(path).close()
    return null
  } catch (error) {
    if (!(error instanceof IncompleteError)) throw error
    // Without the database its journal is of no use, and would count as that of another one.
    if (!existsSync(path)) rmSync(journalFile(path), { force: true })
    openDatabase(path, { acceptLoss: true }).close()
    return error.message
  }
}

interface StoreOnOptions {
  commitAside?: boolean
  checkpoint?: Partial<CheckpointOptions>
}

export function storeOn(
  db: OpenDatabase,
  { commitAside = false, checkpoint = {} }: StoreOnOptions = {},
): Store {
  const numbers = places(db)
  const kv = kvTable(db, numbers)
  const writer = logWriter(db, numbers, kv)
  const reader = logReader(db)
  const table = tables(db)
  const eraser = erasure(db)
  const bell = doorbell<Ring>()
  const space = vacuum(db)
  const saving = checkpoints(db, () => group, {
    everyMs: DEFAULT_EVERY_MS,
    frames: DEFAULT_FRAMES,
    ...checkpoint,
  })
  const copies = copying(db.path, saving)
  const group = groupCommit(db, {
    aside: commitAside,
    onCommit: () => saving.committed(),
    witness,
    onRollback() {
      numbers.forget()
      writer.forget()
      eraser.forget()
    },
  })
  let closed = false
  let witnessed = 0

  /** An append is its own witness, so most transactions write nothing more for it. */
  function witness(): number {
    if (writer.lastPlace() > witnessed) return (witnessed = writer.lastPlace())
    const place = numbers.take(1)
    db.mark.record(place)
    return place
  }

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
    open()
    await saving.truncate()
    void giveBack()
  }

  let isGivingBack = false
  /** Gives free space back. Nobody waits for this: what fails goes on at the next start, or after the next erasure. */
  async function giveBack(): Promise<void> {
    if (isGivingBack) return
    isGivingBack = true
    try {
      while ((await read(() => space.free())) > 0) {
        await write(() => space.step())
        await delay(VACUUM_PAUSE_MS, undefined, { ref: false })
      }
    } catch {
      // Closed, or a full disk.
    } finally {
      isGivingBack = false
    }
  }

  // Nobody waits for these; what fails now is found again at the next start.
  for (const session of eraser.unfinished()) purge(session).catch(() => undefined)
  void giveBack()

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

    async copy(take) {
      open()
      await copies.copy(take)
    },

    onAppend: (listener) => bell.on(listener),
    async close() {
      if (closed) return
      closed = true
      copies.stop()
      saving.stop()
      await group.drained()
      db.close()
      copies.close()
    },
  }
}
