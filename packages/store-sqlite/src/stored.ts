import { isUtf8 } from 'node:buffer'

/** Reads what this store wrote, and therefore trusts: the caller states what it is. */
export function stored<T>(json: Buffer): T {
  if (!isUtf8(json)) throw new DamagedError('a stored value is not text')
  try {
    return JSON.parse(json.toString()) as T
  } catch (error) {
    throw new DamagedError('a stored value is not JSON', { cause: error })
  }
}

/** What the engine did not notice. */
export class DamagedError extends Error {
  readonly code = 'SQLITE_CORRUPT'
}
