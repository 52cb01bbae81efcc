import type { LiveEvent } from '@askback/protocol'
import { doorbell } from '../store/doorbell.js'
import type { Ring, Store } from '../store/store.js'

/**
 * Between the processes on one store. It may lose, delay or repeat what is published, and carries nothing that is not in
 * the store or can be missed: a bus that is down costs latency, never data.
 */
export interface Bus {
  publish(message: BusMessage): void
  /** Told what others publish. */
  on(listener: (message: BusMessage) => void): () => void
  close(): Promise<void>
}

export type BusMessage =
  /** Somebody appended. */
  | ({ type: 'append' } & Ring)
  /** A part of a block that is being made. */
  | { type: 'live'; sessionId: string; event: LiveEvent }
  /** There is something in the mailbox of that process. */
  | { type: 'mail'; to: string }
  /** Tokens, logins or people have changed: whoever knows any reads them again. */
  | { type: 'credentials' }
  /** A process has ended in good order. */
  | { type: 'left' }

/** A bus inside one process: each call joins it as another would. */
export function memoryBus(): () => Bus {
  const members = new Set<(message: BusMessage) => void>()
  return () => {
    const bell = doorbell<BusMessage>()
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

/** The same store, whose doorbell is also rung by what others append. */
export function storeOnBus(store: Store, bus: Bus): Store {
  const bell = doorbell<Ring>()
  store.onAppend((ring) => {
    bell.ring(ring)
    bus.publish({ type: 'append', ...ring })
  })
  bus.on((message) => {
    if (message.type === 'append') bell.ring({ sessionId: message.sessionId, eventId: message.eventId })
  })
  return { ...store, onAppend: (listener) => bell.on(listener) }
}
