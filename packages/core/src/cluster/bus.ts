import { liveEvent, type LiveEvent } from '@askback/protocol'
import { createDoorbell } from '../store/doorbell.js'
import type { AppendNotice, Store } from '../store/store.js'

/**
 * Sends messages between the processes on one store. It may lose, delay or repeat them. Everything important is in the store, so a bus
 * that is down costs latency, never data.
 */
export interface Bus {
  publish(message: BusMessage): void
  /** Subscribes to the messages of other processes. */
  on(listener: (message: BusMessage) => void): () => void
  close(): Promise<void>
}

/** What gateways tell each other. */
export type BusMessage =
  /** The doorbell: a session has new events. */
  | ({ type: 'append' } & AppendNotice)
  /** A part of an unfinished block. */
  | { type: 'live'; sessionId: string; event: LiveEvent }
  /** The mailbox of that process has a command. */
  | { type: 'mail'; to: string }
  /** Tokens, logins or people have changed: caches of them are read again. */
  | { type: 'credentials' }
  /** A process has shut down. */
  | { type: 'left' }

/** Whether something that a bus received is a message. Others can send to a bus, too, and a process may be of another version. */
export function isBusMessage(value: unknown): value is BusMessage {
  if (typeof value !== 'object' || value === null) return false
  const { type, sessionId, eventId, event, to }: Partial<Record<string, unknown>> = { ...value }
  switch (type) {
    case 'append':
      return typeof sessionId === 'string' && typeof eventId === 'string'
    case 'live':
      return typeof sessionId === 'string' && liveEvent.safeParse(event).success
    case 'mail':
      return typeof to === 'string'
    default:
      return type === 'left' || type === 'credentials'
  }
}

/** A bus inside one process, for tests and embedders. Each call of the returned function joins as another process would. */
export function memoryBus(): () => Bus {
  const members = new Set<(message: BusMessage) => void>()
  return () => {
    const bell = createDoorbell<BusMessage>()
    const tell = (message: BusMessage) => bell.ring(message)
    members.add(tell)
    return {
      publish(message) {
        if (!members.has(tell)) return
        for (const ring of members)
          if (ring !== tell) queueMicrotask(() => members.has(ring) && ring(message))
      },
      on: (listener) => bell.on(listener),
      close() {
        members.delete(tell)
        return Promise.resolve()
      },
    }
  }
}

/** The store with a doorbell that also rings for appends of other processes. */
export function storeOnBus(store: Store, bus: Bus): Store {
  const bell = createDoorbell<AppendNotice>()
  store.onAppend((notice) => {
    bell.ring(notice)
    bus.publish({ type: 'append', ...notice })
  })
  bus.on((message) => {
    if (message.type === 'append') bell.ring({ sessionId: message.sessionId, eventId: message.eventId })
  })
  return { ...store, onAppend: (listener) => bell.on(listener) }
}
