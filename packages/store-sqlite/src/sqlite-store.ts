import type { AppendNotice, Store } from '@askback/core'
import { checkAppend, createDoorbell, parseCursor } from '@askback/core/store'
import { AskbackError } from '@askback/protocol'
import { existsSync, rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import {
  DEFAULT_EVERY_MS,
  DEFAULT_MAX_FRAMES,
  startCheckpoints,
  type CheckpointOptions,
} from './checkpoints.js'
import { IncompleteError } from './completeness.js'
import { derivedTables } from './derived-tables.js'
import { erasure, vacuum, VACUUM_PAUSE_MS } from './erasure.js'
import { failure } from './failure.js'
import { groupCommit } from './group-commit.js'
import { journalFile } from './journal.js'
import { kvTable } from './kv.js'
import { liveCopies } from './live-copy.js'
import { logWriter, type SessionHead } from './log-writer.js'
import { openDatabase, type OpenDatabase } from './open.js'
import { logQueries, tableQueries } from './queries.js'
import { openSequence } from './sequence.js'

/** The options of `sqliteStore`. */
export interface SqliteStoreOptions {
  /** The database file. It is created if it does not exist; its folder must exist. */
  path: string
  /**
   * Commits transactions with several writes in another thread, so that a server can do other work while the disk syncs. A
   * process that only waits for its writes is faster without.
   *
   * @default false
   */
  commitInThread?: boolean
  /**
   * After how many milliseconds at most a write is in the main file. Until then it is in the journal beside it, where it is just
   * as durable.
   *
   * @default 5000
   */
  checkpointMs?: number
}

/**
 * Opens a store in one SQLite file, which one process at a time can use. A write is acknowledged after it was synced to the disk.
 * Throws `unavailable` with a sentence that says what to do if the file is in use, damaged, or lacks acknowledged writes.
 *
 * @example
 * const store = sqliteStore({ path: 'askback.db' })
 * const desk = createDesk({ store })
 */
export function sqliteStore(options: SqliteStoreOptions): Store {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- callers without types may pass anything: the path is checked below
  const { path, commitInThread = false, checkpointMs } = Object(options) as Partial<SqliteStoreOptions>
  if (typeof path !== 'string' || path === '')
    throw new AskbackError('invalid_request', 'A store needs the path of its database file.')
  const db = openDatabase(path)
  try {
    return createStore(db, {
      commitInThread,
      ...(checkpointMs !== undefined && { checkpoint: { everyMs: checkpointMs } }),
    })
  } catch (error) {
    db.close()
    throw failure(error, db.path)
  }
}

/**
 * A store for `createAskback`, which opens it and closes it again.
 *
 * @example
 * const askback = createAskback({ store: sqlite('./askback.db') })
 */
export function sqlite(path: string): () => Store {
  return () => sqliteStore({ path, commitInThread: true })
}

/**
 * Accepts that acknowledged writes are missing, so that the next start succeeds with what is left. Returns the message with which
 * the start would have failed, or `null` if nothing is missing.
 */
export function acceptLoss(path: string): string | null {
  try {
    openDatabase(path).close()
    return null
  } catch (error) {
    if (!(error instanceof IncompleteError)) throw error
    // Without its database the journal is useless, and would count as that of another database.
    if (!existsSync(path)) rmSync(journalFile(path), { force: true })
    openDatabase(path, { acceptLoss: true }).close()
    return error.message
  }
}

interface CreateStoreOptions {
  commitInThread?: boolean
  checkpoint?: Partial<CheckpointOptions>
}

/** @internal */
export function createStore(
  db: OpenDatabase,
  { commitInThread = false, checkpoint = {} }: CreateStoreOptions = {},
): Store {
  const sequence = openSequence(db)
  const kv = kvTable(db, sequence)
  const derived = derivedTables(db)
  const writer = logWriter(db, sequence, kv, derived)
  const log = logQueries(db)
  const tables = tableQueries(db)
  const eraser = erasure(db)
  const freeSpace = vacuum(db)
  const bell = createDoorbell<AppendNotice>()
  const checkpoints = startCheckpoints(db, () => group, {
    everyMs: DEFAULT_EVERY_MS,
    maxFrames: DEFAULT_MAX_FRAMES,
    // So a crash leaves little to do for the next start. A commit starts the timer of the next checkpoint, so there is none for nothing.
    prepare: async () => {
      if (!derived.isCurrent()) await write(() => derived.write())
    },
    ...checkpoint,
  })
  const copies = liveCopies(db.path, checkpoints)
  const group = groupCommit(db, {
    aside: commitInThread,
    beforeCommit() {
      if (derived.isFull()) derived.write()
    },
    onCommit() {
      derived.committed()
      checkpoints.committed()
    },
    positionOf: transactionPosition,
    onRollback() {
      sequence.forget()
      derived.forget()
      writer.forget()
      eraser.forget()
    },
  })
  let closed = false
  let lastTransaction = 0

  /** Returns the position of the transaction: that of its last append, or one that is written for it (see `mark.ts`). */
  function transactionPosition(): number {
    if (writer.lastPosition() > lastTransaction) return (lastTransaction = writer.lastPosition())
    const position = sequence.take(1)
    db.mark.record(position)
    return position
  }

  function throwIfClosed(): void {
    if (closed) throw new AskbackError('unavailable', 'The store is closed.')
  }

  async function read<T>(query: () => T): Promise<T> {
    while (group.committing) await group.committing
    throwIfClosed()
    try {
      return query()
    } catch (error) {
      throw failure(error, db.path)
    }
  }

  /** Runs a query on tables that follow from the log, after writing what they lack. */
  function readDerived<T>(query: () => T): Promise<T> {
    return read(() => {
      if (derived.isCurrent()) return query()
      return group.runUnsynced(() => {
        derived.write()
        return query()
      })
    })
  }

  /** A query for a session; `otherwise` is its result if the session does not exist. */
  function ofSession<T>(sessionId: string, otherwise: T, query: (head: SessionHead) => T): () => T {
    return () => {
      const head = writer.head(sessionId)
      return head ? query(head) : otherwise
    }
  }

  /** Whether the session was erased and started again since the caller read the log `logId`. */
  function isOtherLog(head: SessionHead | undefined, logId: string | undefined): boolean {
    const [first] = head && logId !== undefined ? log.read(head, { limit: 1 }) : []
    return first !== undefined && first.id !== logId
  }

  function completeTables(): void {
    try {
      if (!derived.isCurrent()) group.runUnsynced(() => derived.write())
    } catch {
      // For example a damaged file. The next start derives it from the log.
    }
  }

  async function write<T>(change: () => T): Promise<T> {
    throwIfClosed()
    return group.submit(change)
  }

  /** The erasures that are running, by session. */
  const purging = new Map<number, Promise<void>>()
  /** After an erasure failed, perhaps when only the journal was left to be truncated. */
  let mayJournalHoldErased = false
  /** A second call for the same session waits for the first one: it must not resolve while there is something left. */
  function purge(session: number): Promise<void> {
    const running = purging.get(session)
    if (running) return running
    const started = eraseRows(session).finally(() => purging.delete(session))
    purging.set(session, started)
    return started
  }

  async function eraseRows(session: number): Promise<void> {
    try {
      while (!(await write(() => eraser.purge(session))));
      throwIfClosed()
      await checkpoints.truncate()
    } catch (error) {
      mayJournalHoldErased = true
      throw error
    }
    void shrinkFile()
  }

  /** Erases every session that was hidden, also those whose erasure failed before: a repeated call must finish it. */
  async function purgeHidden(): Promise<void> {
    for (const session of await read(() => eraser.unfinished())) await purge(session)
    // After the rows of a session are deleted, its erasure still empties the journal.
    await Promise.all(purging.values())
    if (!mayJournalHoldErased) return
    await checkpoints.truncate()
    mayJournalHoldErased = false
  }

  let isShrinking = false
  /** Gives free pages back to the file system. Nobody waits for this: after a failure the next start or erasure continues. */
  async function shrinkFile(): Promise<void> {
    if (isShrinking) return
    isShrinking = true
    try {
      while ((await read(() => freeSpace.freePages())) > 0) {
        await write(() => freeSpace.step())
        await delay(VACUUM_PAUSE_MS, undefined, { ref: false })
      }
    } catch {
      // The store was closed, or the disk is full.
    } finally {
      isShrinking = false
    }
  }

  // Nobody waits for these. If one fails, the next start continues it.
  for (const session of eraser.unfinished()) purge(session).catch(() => undefined)
  void shrinkFile()

  return {
    async append(append) {
      checkAppend(append)
      const body = append.texts ? `[${append.texts().join(',')}]` : JSON.stringify(append.events)
      const result = await write(() => writer.append(append, body))
      if (result.ok) bell.ring({ sessionId: append.sessionId, eventId: append.events.at(-1)!.id })
      return result
    },
    read: (query) => read(ofSession(query.sessionId, [], (head) => log.read(head, query))),

    session: (sessionId) => readDerived(() => tables.session(sessionId)),
    sessions: (query) => readDerived(() => tables.sessions(query)),
    countSessions: () => read(() => tables.countSessions()),

    interaction: (interactionId) => readDerived(() => log.interaction(interactionId)),
    interactionsOf: (sessionId, toolCallId) =>
      readDerived(ofSession(sessionId, [], ({ key }) => log.interactionsOf(key, toolCallId))),
    pending({ sessionId, after = '0', limit }) {
      if (sessionId === undefined) return readDerived(() => log.pending({ after: parseCursor(after), limit }))
      const none = { items: [], next: null }
      return readDerived(
        ofSession(sessionId, none, ({ key }) =>
          log.pending({ session: key, after: parseCursor(after), limit }),
        ),
      )
    },
    countPending: () => readDerived(() => tables.countPending()),
    pendingCounts: () => readDerived(() => tables.pendingCounts()),
    deadlines: () => readDerived(() => tables.deadlines()),
    toolCall: (sessionId, toolCallId) =>
      readDerived(ofSession(sessionId, null, ({ key }) => tables.toolCall(key, toolCallId))),

    audit: ({ after = '0', limit }) => readDerived(() => tables.audit(parseCursor(after), limit)),
    addAudit: (rows) => write(() => writer.addAudit(rows)),
    changes: ({ after = '0', limit }) => read(() => log.changes(parseCursor(after), limit)),
    head: () => read(() => String(log.newest())),

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

    loadSnapshot: (sessionId) => read(ofSession(sessionId, null, ({ key }) => tables.loadSnapshot(key))),
    saveSnapshot: (sessionId, snapshot, logId) =>
      write(() => {
        const head = writer.head(sessionId)
        if (isOtherLog(head, logId)) return
        if (head && snapshot.seq <= head.seq) tables.saveSnapshot(head.key, snapshot)
      }),

    async erase(sessionId, logId) {
      await write(() => {
        const head = writer.head(sessionId)
        if (isOtherLog(head, logId)) return
        kv.erase(`session/${sessionId}/`)
        // Nothing may be derived from this log once its rows are being erased.
        derived.write()
        if (head) eraser.hide(head.key)
        writer.forget(sessionId)
      })
      await purgeHidden()
    },

    async copy(take) {
      throwIfClosed()
      await copies.copy(take)
    },

    onAppend: (listener) => bell.on(listener),
    async close() {
      if (closed) return
      closed = true
      copies.stop()
      checkpoints.stop()
      await group.drained()
      completeTables()
      db.close()
      copies.close()
    },
  }
}
