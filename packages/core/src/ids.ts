const SYMBOLS = Uint8Array.from('0123456789abcdefghjkmnpqrstvwxyz', (symbol) => symbol.charCodeAt(0))
const TIME = 9
const RANDOM = 20
/** Drawn many at a time: a call of the generator costs more than all the rest. */
const pool = new Uint8Array(RANDOM * 200)
let used = pool.length
/** Made once: a new list for each id would be most of what an append leaves to the garbage collector. */
const codes: number[] = Array.from({ length: TIME + RANDOM }, () => 0)

/** The time that the codes begin with. */
let written = -1

/** 100 random bits after the time in milliseconds: unguessable, and in rough order of creation for the indexes. */
export function newId(): string {
  if (used === pool.length) {
    crypto.getRandomValues(pool)
    used = 0
  }
  const now = Date.now()
  if (now !== written) writeTime(now)
  for (let place = TIME; place < codes.length; place++) codes[place] = SYMBOLS[pool[used++]! & 31]!
  // At once: a text that is put together character by character keeps a node for each in memory.
  return String.fromCharCode(...codes)
}

function writeTime(now: number): void {
  written = now
  for (let place = TIME - 1; place >= 0; place--) {
    codes[place] = SYMBOLS[now % 32]!
    now = Math.floor(now / 32)
  }
}
