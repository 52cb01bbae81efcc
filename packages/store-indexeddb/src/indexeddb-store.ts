import { storeOnBus, type AppendNotice, type Bus, type Store } from '@askback/core'
import { checkAppend, createDoorbell, parseCursor } from '@askback/core/store'
import { AskbackError, copyJson } from '@askback/protocol'
import { IdbConnection } from './connection.js'
import * as queries from './queries.js'
import type { IdbDatabase } from './schema.js'
import { channelBus } from './tab-bus.js'
import { TransactionQueue, type TransactionWork } from './transaction-queue.js'
import {
  acquireLock,
  addAudit,
  appendEvents,
  eraseSession,
  putKey,
  releaseLock,
  saveSnapshot,
} from './log-writer.js'

/** The options of `indexedDbStore`. */
export interface IndexedDbStoreOptions {
  /**
   * The name of the database. All tabs of a site that use the same name share it.
   *
   * @default 'askback'
   */
  name?: string
}

/**
 * Opens a store in the browser's IndexedDB, which all tabs of a site share. A write is acknowledged after it was synced to the disk. Rejects
 * with `unavailable` and a sentence that says what to do if the browser blocks storage, or if another tab has a newer
 * version. If a newer version in another tab upgrades the database later, this store completes its writes and rejects further ones.
 *
 * @example
 * const store = await indexedDbStore()
 * const desk = createDesk({ store })
 */
export async function indexedDbStore({ name = 'askback' }: IndexedDbStoreOptions = {}): Promise<Store> {
  if (typeof name !== 'string' || name === '')
    throw new AskbackError('invalid_request', 'The name of the database must be a text.')
  const queue: TransactionQueue = new TransactionQueue(
    () => connection.databaseForSubmitted(),
    `askback/${name}/writer`,
  )
  const connection = await IdbConnection.open({ name, drained: () => queue.drained() })
  const store = createStore(connection, queue)
  const bus = doorbellOf(name)
  if (!bus) return store
  const ringing = storeOnBus(store, bus)
  return {
    ...ringing,
    async close() {
      await store.close()
      await bus.close()
    },
  }
}

/** The doorbell between the tabs. Without it other tabs find new events at their next poll. */
function doorbellOf(name: string): Bus | null {
  try {
    return globalThis.BroadcastChannel === undefined ? null : channelBus(`askback/${name}/doorbell`)
  } catch {
    // The browser blocks it for this page.
    return null
  }
}

function createStore(connection: IdbConnection, queue: TransactionQueue): Store {
  const bell = createDoorbell<AppendNotice>()

  async function read<T>(query: (db: IdbDatabase) => Promise<T>): Promise<T> {
    const { db } = connection
    try {
      return await query(db)
    } catch (error) {
      throw connection.failureOf(error)
    }
  }

  /** A transaction ends with a commit or an abort, so after an error nothing was written. */
  async function write<T>(change: TransactionWork<T>): Promise<T> {
    connection.throwIfEnded()
    try {
      return await queue.submit(change)
    } catch (error) {
      throw connection.failureOf(error, 'not_written')
    }
  }

  return {
    shared: true,
    async append(append) {
      connection.throwIfEnded()
      checkAppend(append)
      const body = append.texts ? `[${append.texts().join(',')}]` : JSON.stringify(append.events)
      const kv = append.kv?.map((each) => ({ ...each, value: copyJson(each.value) }))
      const result = await write((tx, positions) => appendEvents(tx, positions, { ...append, kv }, body))
      if (result.ok) bell.ring({ sessionId: append.sessionId, eventId: append.events.at(-1)!.id })
      return result
    },
    read: (query) => read((db) => queries.readEvents(db, query)),

    session: (sessionId) => read((db) => queries.session(db, sessionId)),
    sessions: (query) => read((db) => queries.sessions(db, query)),
    countSessions: () => read((db) => db.count('sessions')),

    interaction: (interactionId) => read((db) => queries.interaction(db, interactionId)),
    interactionsOf: (sessionId, toolCallId) =>
      read((db) => queries.interactionsOf(db, sessionId, toolCallId)),
    pending: (query) => read((db) => queries.pending(db, query)),
    countPending: () => read((db) => db.countFromIndex('interactions', 'pending')),
    pendingCounts: () => read((db) => queries.pendingCounts(db)),
    deadlines: () => read((db) => queries.deadlines(db)),
    toolCall: (sessionId, toolCallId) => read((db) => queries.toolCall(db, sessionId, toolCallId)),

    audit: ({ after = '0', limit }) => read(async (db) => queries.audit(db, parseCursor(after), limit)),
    addAudit: (rows) => write((tx, positions) => addAudit(tx, positions, rows)),
    changes: ({ after = '0', limit }) => read(async (db) => queries.changes(db, parseCursor(after), limit)),
    changedSessions: ({ after, limit }) =>
      read(async (db) => queries.changedSessions(db, parseCursor(after), limit)),
    head: () => read((db) => queries.head(db)),

    kv: {
      get: (key) => read((db) => queries.key(db, key)),
      list: (prefix) => read((db) => queries.keys(db, prefix)),
      async put(key, value, expected, act) {
        const copy = copyJson(value)
        return write(async (tx, positions) => {
          const isWritten = await putKey(tx, positions, { key, value: copy, expected })
          if (isWritten && act) await addAudit(tx, positions, [act])
          return isWritten
        })
      },
    },

    locks: {
      acquire: (sessionId, owner, ms) => write((tx) => acquireLock(tx, sessionId, owner, ms)),
      release: (sessionId, owner) => write((tx) => releaseLock(tx, sessionId, owner)),
    },

    loadSnapshot: (sessionId) => read((db) => queries.loadSnapshot(db, sessionId)),
    async saveSnapshot(sessionId, { seq, version, state }, logId) {
      const snapshot = { seq, version, state: copyJson(state) }
      return write((tx) => saveSnapshot(tx, sessionId, snapshot, logId))
    },

    erase: (sessionId, logId) => write((tx, positions) => eraseSession(tx, positions, sessionId, logId)),

    onAppend: (listener) => bell.on(listener),
    async close() {
      connection.end('The store is closed.')
      await queue.drained()
      connection.close()
    },
  }
}
