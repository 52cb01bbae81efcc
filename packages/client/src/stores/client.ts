import { Backoff, systemClock, type Timing } from '@askback/protocol'
import type { Transport } from '../transport/transport.js'
import { ChangesHub } from './changes-hub.js'
import { InboxStore } from './inbox-store.js'
import { Outbox, type OutboxStorage } from './outbox.js'
import { ServerClock } from './server-clock.js'
import { SessionListStore } from './session-list-store.js'
import { SessionStore } from './session-store.js'

export interface ClientOptions extends Timing {
  /**
   * Schedules the notification of listeners, so that changes that come together are published once.
   *
   * @default a timer of 0 ms
   */
  schedule?: (flush: () => void) => void
  /**
   * The same for a text that is being written, which changes many times a second: once per frame is enough.
   *
   * @default `schedule`
   */
  scheduleLive?: (flush: () => void) => void
  /**
   * Stores answers that could not be sent yet, so that they survive a reload.
   *
   * @default none: they are lost when the page closes
   */
  storage?: OutboxStorage
  /**
   * Makes the idempotency keys of answers.
   *
   * @default 128 random bits, in hex
   */
  newKey?: () => string
  /** Called when the session list sees that a session was deleted, so that what is stored about it can be removed. */
  sessionEnded?: (sessionId: string) => void
}

/** A client of a gateway or a desk: its stores share one connection. */
export interface Client {
  readonly transport: Transport
  readonly inbox: InboxStore
  readonly sessions: SessionListStore
  /** The answers of all sessions that are being sent. */
  readonly outbox: Outbox
  /** The store of a session: the same object for as long as somebody uses it. */
  session(sessionId: string): SessionStore
  /** Connects again at once whatever is not connected: call it after a new login, or when the network is back. */
  reconnect(): void
  /** Checks whether the gateway still answers: call it when the network may be gone. */
  verifyConnection(): void
  /** Ends all streams. Answers that were not sent yet stay in the storage. */
  close(): void
}

/**
 * Creates what a surface works with: the inbox, the list of sessions, and a store for each session that is looked at. The
 * stores have `subscribe` and `getSnapshot`, as React's `useSyncExternalStore` expects. They connect when the first listener
 * subscribes, and disconnect five seconds after the last has left.
 *
 * @example
 * const client = createClient(new HttpTransport({ baseUrl: 'http://127.0.0.1:4100', token }))
 * client.inbox.subscribe(() => {
 *   for (const { toolName } of client.inbox.getSnapshot().items ?? []) console.log(toolName)
 * })
 */
export function createClient(transport: Transport, options: ClientOptions = {}): Client {
  const { clock = systemClock, schedule = soon, scheduleLive, storage, newKey, sessionEnded } = options
  const backoff = new Backoff(options)
  const outbox = new Outbox({ transport, backoff, storage, newKey })
  const changes = new ChangesHub({ transport, backoff, onConnected: () => outbox.retryNow() })
  const serverClock = new ServerClock(clock)
  const shared = { transport, outbox, backoff, changes, clock, serverClock, schedule, scheduleLive }
  const stores = new Map<string, SessionStore>()
  const inbox = new InboxStore(shared)
  const sessions = new SessionListStore({ ...shared, sessionEnded })

  return {
    transport,
    inbox,
    sessions,
    outbox,
    session(sessionId) {
      const known = stores.get(sessionId)
      if (known) return known
      const store = new SessionStore(sessionId, {
        ...shared,
        onIdle: () => {
          if (stores.get(sessionId) === store) stores.delete(sessionId)
        },
      })
      stores.set(sessionId, store)
      return store
    },
    reconnect() {
      transport.retryNow()
      backoff.retryNow()
      changes.reconnect()
      for (const store of stores.values()) store.reconnect()
    },
    verifyConnection() {
      transport.verifyConnection?.()
    },
    close() {
      for (const store of [...stores.values(), inbox, sessions]) store.end()
      stores.clear()
      outbox.close()
      transport.close()
    },
  }
}

function soon(flush: () => void): void {
  setTimeout(flush, 0)
}
