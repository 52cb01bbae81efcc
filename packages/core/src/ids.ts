const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** 100 random bits after the time in milliseconds: unguessable, and in rough order of creation for the indexes. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(20))
  let id = Date.now().toString(32).padStart(9, '0')
  for (const byte of bytes) id += ALPHABET[byte & 31]
  return id
}
