const SYMBOLS = Uint8Array.from('0123456789abcdefghjkmnpqrstvwxyz', (symbol) => symbol.charCodeAt(0))
const RANDOM = 20
/** Drawn many at a time: a call of the generator costs more than all the rest. */
const pool = new Uint8Array(RANDOM * 200)
let used = pool.length

/** 100 random bits after the time in milliseconds: unguessable, and in rough order of creation for the indexes. */
export function newId(): string {
  if (used === pool.length) {
    crypto.getRandomValues(pool)
    used = 0
  }
  const time = Date.now()
  const codes: number[] = []
  for (let unit = 32 ** 8; unit >= 1; unit /= 32) codes.push(SYMBOLS[Math.floor(time / unit) % 32]!)
  for (const end = used + RANDOM; used < end; used++) codes.push(SYMBOLS[pool[used]! & 31]!)
  // At once: a text that is put together character by character keeps a node for each in memory.
  return String.fromCharCode(...codes)
}
