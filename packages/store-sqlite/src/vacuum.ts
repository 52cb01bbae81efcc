import type { Connection } from './connection.js'

/** Half a megabyte: a transaction of a few milliseconds. */
const PAGES_AT_ONCE = 128
/** After each, so that most writes share their transaction with none of them. */
export const VACUUM_PAUSE_MS = 10
/** The mode of `auto_vacuum` in which space is given back on demand. */
export const INCREMENTAL = 2

export interface Vacuum {
  /** How many pages hold nothing and can be given back. */
  free(): number
  /** Inside a transaction: moves pages from the end of the file into free ones, so that the file can be cut. */
  step(): void
}

export function vacuum(db: Connection): Vacuum {
  const countFree = db.get<[number]>('PRAGMA freelist_count')
  // Not where an older version made the file, and there was no room to write it anew.
  const isPossible = db.get<[number]>('PRAGMA auto_vacuum')()![0] === INCREMENTAL
  return {
    free: () => (isPossible ? countFree()![0] : 0),
    step: () => db.exec(`PRAGMA incremental_vacuum(${PAGES_AT_ONCE})`),
  }
}
