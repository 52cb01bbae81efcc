import { SessionLog } from './session-log.js'
import type { Store } from './store.js'

/** The sessions in memory: those in use, and the last ones that were. */
export class SessionLogs {
  readonly #store: Store
  readonly #kept: number
  readonly #onLoad: (sessionId: string) => void
  /** Those that were used stay for one more round: to put each behind all others at every use would cost more. */
  readonly #loaded = new Map<string, SessionLog>()
  readonly #loading = new Map<string, Promise<SessionLog>>()
  /** How often each is held. */
  readonly #held = new Map<string, number>()

  constructor(store: Store, kept: number, onLoad: (sessionId: string) => void) {
    this.#store = store
    this.#kept = kept
    this.#onLoad = onLoad
  }

  get(sessionId: string): SessionLog | Promise<SessionLog> {
    const log = this.#loaded.get(sessionId)
    if (log && !log.stale) {
      log.used = true
      return log
    }
    return this.#loading.get(sessionId) ?? this.#load(sessionId)
  }

  /** Keeps a session in memory until it is let go. */
  hold(sessionId: string): () => void {
    this.#held.set(sessionId, (this.#held.get(sessionId) ?? 0) + 1)
    return () => {
      const left = this.#held.get(sessionId)! - 1
      if (left > 0) this.#held.set(sessionId, left)
      else this.#held.delete(sessionId)
      this.#evict()
    }
  }

  /** Only if it is in memory. */
  peek(sessionId: string): SessionLog | undefined {
    const log = this.#loaded.get(sessionId)
    return log?.stale ? undefined : log
  }

  forget(sessionId: string): void {
    const log = this.#loaded.get(sessionId)
    if (log) log.stale = true
    // With appends under way it stays, so that the next load waits for them.
    if (log?.idle) this.#loaded.delete(sessionId)
    this.#loading.delete(sessionId)
  }

  #load(sessionId: string): Promise<SessionLog> {
    // Appends of the one that has gone stale may still be under way: what they write must be read.
    const before = this.#loaded.get(sessionId)?.settled() ?? Promise.resolve()
    const loading = before
      .then(() => SessionLog.load(this.#store, sessionId))
      .then(
        (log) => {
          // Forgotten while it was read: whoever waits for it must come back.
          if (this.#loading.get(sessionId) !== loading) log.stale = true
          else {
            this.#loading.delete(sessionId)
            this.#loaded.set(sessionId, log)
            this.#evict(log)
            this.#onLoad(sessionId)
          }
          return log
        },
        (error: unknown) => {
          if (this.#loading.get(sessionId) === loading) this.#loading.delete(sessionId)
          throw error
        },
      )
    this.#loading.set(sessionId, loading)
    return loading
  }

  /** Not the one that was loaded just now: when all others are in use, whoever waits for it would never get it. */
  #evict(fresh?: SessionLog): void {
    for (const [sessionId, log] of this.#loaded) {
      if (this.#loaded.size <= this.#kept) return
      if (log === fresh || !log.idle || this.#held.has(sessionId)) continue
      if (log.used) {
        log.used = false
        this.#loaded.delete(sessionId)
        this.#loaded.set(sessionId, log)
        continue
      }
      // Whoever still holds it must come back for the one that is loaded next.
      log.stale = true
      this.#loaded.delete(sessionId)
    }
  }
}
