import type { Connection } from './connection.js'

/** Half a megabyte: a transaction of a few milliseconds, between which others are served. */
const PAGES_AT_ONCE = 128

export interface Vacuum {
  /** How many pages hold nothing. */
  free(): number
  /** Inside a transaction: moves pages from the end of the file into free ones, so that the file can be cut. */
  step(): void
}

export function vacuum(db: Connection): Vacuum {
  const countFree = db.get<[number]>('PRAGMA freelist_count')
  return {
    free: () => countFree()![0],
    step: () => db.exec(`PRAGMA incremental_vacuum(${PAGES_AT_ONCE})`),
  }
}
