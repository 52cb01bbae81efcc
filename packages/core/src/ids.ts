const SYMBOLS = Uint8Array.from('0123456789abcdefghjkmnpqrstvwxyz', (symbol) => symbol.charCodeAt(0))
const TIME_LENGTH = 9
const RANDOM_LENGTH = 20
/** Random bytes are drawn in blocks, because a call of the generator costs more than the rest. */
const pool = new Uint8Array(RANDOM_LENGTH * 200)
let used = pool.length
/** Reused: an array per id would be most of the garbage of an append. */
const codes: number[] = Array.from({ length: TIME_LENGTH + RANDOM_LENGTH }, () => 0)

/** The time that `codes` begins with, in milliseconds. */
let writtenTime = -1

/** 100 random bits after the time in milliseconds: unguessable, and in rough order of creation for the indexes. */
export function newId(): string {
  if (used === pool.length) {
    crypto.getRandomValues(pool)
    used = 0
  }
  const now = Date.now()
  if (now !== writtenTime) writeTime(now)
  for (let index = TIME_LENGTH; index < codes.length; index++) codes[index] = SYMBOLS[pool[used++]! & 31]!
  // In one call: a string that is built by concatenation keeps a node per character in memory.
  return String.fromCharCode(...codes)
}

function writeTime(now: number): void {
  writtenTime = now
  for (let index = TIME_LENGTH - 1; index >= 0; index--) {
    codes[index] = SYMBOLS[now % 32]!
    now = Math.floor(now / 32)
  }
}
