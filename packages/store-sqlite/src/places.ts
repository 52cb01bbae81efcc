import type { Connection } from './connection.js'

/** Numbers that only grow and are never used again, not even after an erasure or a crash. */
export interface Places {
  /** Takes `count` of them in a row, inside a transaction, and returns the first. */
  take(count: number): number
  /** After a rollback. */
  forget(): void
}

const BLOCK = 2 ** 20

/** They are reserved by the block, so that taking one costs no write. */
export function places(db: Connection): Places {
  const reserve = db.run("UPDATE meta SET value = ? WHERE key = 'reserved'")
  let [next] = db.get<[number]>("SELECT value FROM meta WHERE key = 'reserved'")()!
  let reserved = next
  return {
    take(count) {
      const first = next
      next += count
      if (next > reserved) {
        reserved = next + BLOCK
        reserve(reserved)
      }
      return first
    },
    forget() {
      reserved = 0
    },
  }
}
