const SYMBOLS = Uint8Array.from('0123456789abcdefghjkmnpqrstvwxyz', (symbol) => symbol.charCodeAt(0))
const RANDOM = 20
/** Drawn many at a time: a call of the generator costs more than all the rest. */
const pool = new Uint8Array(RANDOM * 200)
let used = pool.length
/** Made once: a new list for each id would be most of what an append leaves to the garbage collector. */
const codes: number[] = Array.from({ length: 9 + RANDOM }, () => 0)

/** 100 random bits after the time in milliseconds: unguessable, and in rough order of creation for the indexes. */
export function newId(): string {
  if (used === pool.length) {
    crypto.getRandomValues(pool)
    used = 0
  }
  let time = Date.now()
  for (let place = 8; place >= 0; place--) {
    codes[place] = SYMBOLS[time % 32]!
    time = Math.floor(time / 32)
  }
  for (let place = 9; place < codes.length; place++) codes[place] = SYMBOLS[pool[used++]! & 31]!
  // At once: a text that is put together character by character keeps a node for each in memory.
  return String.fromCharCode(...codes)
}
