import type { SessionEvent } from '@askback/protocol'
import type { Clock } from '../clock.js'
import type { Store } from '../store/store.js'
import { eventTexts, type Advance } from './committed.js'

/** Called with events that became durable in sessions in memory or followed here, in the order of each log. */
export type Listener = (advance: Advance) => void

/** Called with the id of a session that was deleted. */
export type GoneListener = (sessionId: string) => void

/** Calls all listeners. An error in one of them does not affect the others. */
export class Listeners {
  readonly #listeners = new Set<{ advanced: Listener; gone: GoneListener | undefined }>()
  readonly #onError: (error: unknown) => void

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError
  }

  add(advanced: Listener, gone?: GoneListener): () => void {
    const entry = { advanced, gone }
    this.#listeners.add(entry)
    return () => this.#listeners.delete(entry)
  }

  /** Adds a listener for one session. */
  addFor(sessionId: string, listener: () => void): () => void {
    return this.add((advance) => {
      if (advance.sessionId === sessionId) listener()
    })
  }

  advanced(advance: Advance): void {
    for (const { advanced } of this.#listeners) {
      try {
        advanced(advance)
      } catch (error) {
        this.#onError(error)
      }
    }
  }

  gone(sessionId: string): void {
    for (const { gone } of this.#listeners) {
      try {
        gone?.(sessionId)
      } catch (error) {
        this.#onError(error)
      }
    }
  }

  clear(): void {
    this.#listeners.clear()
  }
}

/** Called with events of one session that became durable together, and the same as JSON texts. */
export type AllSessionsListener = (events: SessionEvent[], texts: () => string[]) => void

interface AllSessionsPorts {
  store: Store
  clock: Clock
  /** Subscribes to the events that become durable in this process, and to erased sessions. */
  on: (listener: Listener, gone?: GoneListener) => () => void
  onError: (error: unknown) => void
}

interface AllSessionsFollower {
  listener: AllSessionsListener
  gone: GoneListener | undefined
}

const PAGE = 500
const RETRY_MS = 1000

/**
 * The durable events of all sessions. On a store that is not shared these are the own appends. On a shared store, while there are
 * followers, one cursor moves through the changes of all sessions; a hint causes a read, and a failed read is retried from the same
 * cursor.
 */
export class AllSessions {
  readonly #ports: AllSessionsPorts
  readonly #listeners = new Set<AllSessionsFollower>()
  /** Where the next read begins; a promise while the first follower reads the end of the changes. */
  #cursor: Promise<string> | string | null = null
  #reading = false
  #isHinted = false
  #disarm = () => {}
  #closed = false

  constructor(ports: AllSessionsPorts) {
    this.#ports = ports
  }

  /** Resolves with a function that ends it. The listener gets everything that is committed after that. */
  async follow(listener: AllSessionsListener, gone?: GoneListener): Promise<() => void> {
    const { store, on } = this.#ports
    if (!store.shared) return on(({ events, texts }) => events.length > 0 && listener(events, texts), gone)
    const entry: AllSessionsFollower = { listener, gone }
    this.#listeners.add(entry)
    try {
      this.#cursor ??= this.#findEnd()
      await this.#cursor
    } catch (error) {
      this.#remove(entry)
      throw error
    }
    return () => this.#remove(entry)
  }

  /** Something may have been appended: reads in the background. */
  hint(): void {
    if (this.#listeners.size === 0 || this.#closed) return
    this.#isHinted = true
    if (this.#reading) return
    this.#reading = true
    this.#read().catch((error: unknown) => {
      if (this.#closed) return
      const { clock, onError } = this.#ports
      onError(error)
      this.#disarm()
      this.#disarm = clock.alarm(clock.now() + RETRY_MS, () => this.hint())
    })
  }

  close(): void {
    this.#closed = true
    this.#disarm()
    this.#listeners.clear()
  }

  /** Followers that start at the same time share one read of the end. */
  #findEnd(): Promise<string> {
    const finding = this.#ports.store.head().then(
      (end) => {
        if (this.#cursor === finding) this.#cursor = end
        return end
      },
      (error: unknown) => {
        if (this.#cursor === finding) this.#cursor = null
        throw error
      },
    )
    return finding
  }

  #remove(entry: AllSessionsFollower): void {
    this.#listeners.delete(entry)
    if (this.#listeners.size === 0) this.#cursor = null
  }

  async #read(): Promise<void> {
    try {
      while (this.#isHinted) {
        this.#isHinted = false
        while (await this.#readPage());
      }
    } finally {
      // In the same tick as the last check for hints, so that none is lost in between.
      this.#reading = false
    }
  }

  /** Whether there may be more. A page can be short for other reasons than the end, so only an empty one is the last. */
  async #readPage(): Promise<boolean> {
    const after = await this.#cursor
    if (after === null) return false
    const changes = await this.#ports.store.changes({ after, limit: PAGE })
    const last = changes.at(-1)
    // All followers left during the read, and new ones may have started from a later cursor.
    if (!last || this.#cursor !== after) return false
    this.#cursor = last.cursor
    for (const { sessionId, events } of changes) this.#publish(sessionId, events)
    return true
  }

  /** `events` is empty if the session was erased. */
  #publish(sessionId: string, events: SessionEvent[]): void {
    for (const { listener, gone } of this.#listeners) {
      try {
        if (events.length === 0) gone?.(sessionId)
        else listener(events, () => eventTexts(events))
      } catch (error) {
        this.#ports.onError(error)
      }
    }
  }
}
