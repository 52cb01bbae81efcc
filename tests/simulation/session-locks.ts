import type { Append, SessionLocks } from '@askback/core'

/** The locks of the shared store, by the store's own clock. */
export class SimulatedLocks implements SessionLocks {
  readonly #now: () => number
  readonly #locks = new Map<string, { owner: string; until: number }>()

  constructor(now: () => number) {
    this.#now = now
  }

  /** Whether another owner holds the lock. */
  refuses({ sessionId, lockOwner }: Append): boolean {
    const lock = this.#locks.get(sessionId)
    return lock !== undefined && lock.owner !== lockOwner && lock.until > this.#now()
  }

  committed({ sessionId, lockOwner }: Append): void {
    if (lockOwner !== undefined) this.#locks.delete(sessionId)
  }

  acquire(sessionId: string, owner: string, ms: number): Promise<boolean> {
    const lock = this.#locks.get(sessionId)
    if (lock && lock.owner !== owner && lock.until > this.#now()) return Promise.resolve(false)
    this.#locks.set(sessionId, { owner, until: this.#now() + ms })
    return Promise.resolve(true)
  }

  release(sessionId: string, owner: string): Promise<void> {
    if (this.#locks.get(sessionId)?.owner === owner) this.#locks.delete(sessionId)
    return Promise.resolve()
  }
}
