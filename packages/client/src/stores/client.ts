import { systemClock } from '../clock.js'
import { Pauses, type Timing } from '../pauses.js'
import type { Transport } from '../transport/transport.js'
import { ChangesHub } from './changes-hub.js'
import { InboxStore } from './inbox-store.js'
import { Outbox, type OutboxStorage } from './outbox.js'
import { ServerClock } from './server-clock.js'
import { SessionListStore } from './session-list-store.js'
import { SessionStore } from './session-store.js'

export interface ClientOptions extends Timing {
  /** Tells listeners of what came together; a moment later by default. */
  schedule?: (flush: () => void) => void
  /** The same for text that is being written: once a frame is enough for that. */
  scheduleLive?: (flush: () => void) => void
  /** Keeps answers that could not be sent over a reload. */
  storage?: OutboxStorage
  newKey?: () => string
  /** A session was deleted, as far as the list of sessions tells: nothing of it needs to be kept. */
  sessionEnded?: (sessionId: string) => void
}

export interface Client {
  readonly transport: Transport
  readonly inbox: InboxStore
  readonly sessions: SessionListStore
  /** Answers on their way, of all sessions. */
  readonly outbox: Outbox
  /** The same store for the same session, for as long as somebody uses it. */
  session(sessionId: string): SessionStore
  /** After a new login, or when the network is said to be back: what is not connected is tried now. */
  reconnect(): void
  /** When the network is said to be gone: finds out whether the gateway is. */
  doubt(): void
  close(): void
}

/** What a surface holds: one store a session, made when it is looked at and dropped when it is not. */
export function createClient(transport: Transport, options: ClientOptions = {}): Client {
  const { clock = systemClock, schedule = later, scheduleLive, storage, newKey, sessionEnded } = options
  const pauses = new Pauses(options)
  const outbox = new Outbox({ transport, pauses, storage, newKey })
  const changes = new ChangesHub({ transport, pauses, connected: () => outbox.nudge() })
  const serverClock = new ServerClock(clock)
  const shared = { transport, outbox, pauses, changes, clock, serverClock, schedule, scheduleLive }
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
        idle: () => {
          if (stores.get(sessionId) === store) stores.delete(sessionId)
        },
      })
      stores.set(sessionId, store)
      return store
    },
    reconnect() {
      transport.wake()
      pauses.wake()
      changes.reconnect()
      for (const store of stores.values()) store.reconnect()
    },
    doubt() {
      transport.doubt?.()
    },
    close() {
      for (const store of [...stores.values(), inbox, sessions]) store.end()
      stores.clear()
      outbox.close()
      transport.close()
    },
  }
}

function later(flush: () => void): void {
  setTimeout(flush, 0)
}
