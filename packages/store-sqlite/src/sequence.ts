import type { Connection } from './connection.js'

/**
 * Positions: numbers that only grow and are never used twice, not even after an erasure or a crash. Events, sessions, audit rows
 * and versions of keys all get theirs from this sequence.
 */
export interface Sequence {
  /** Allocates `count` consecutive positions, inside a transaction, and returns the first. */
  take(count: number): number
  /** To be called after a rollback. */
  forget(): void
}

/** Positions are reserved in blocks of this size, so that most allocations write nothing. */
const BLOCK_SIZE = 2 ** 20

export function openSequence(db: Connection): Sequence {
  const reserve = db.run("UPDATE meta SET value = ? WHERE key = 'reserved'")
  let [next] = db.get<[number]>("SELECT value FROM meta WHERE key = 'reserved'")()!
  let reserved = next
  return {
    take(count) {
      const first = next
      next += count
      if (next > reserved) {
        reserved = next + BLOCK_SIZE
        reserve(reserved)
      }
      return first
    },
    forget() {
      // The reservation may have been rolled back. The next allocation reserves again, after the positions already used.
      reserved = 0
    },
  }
}
