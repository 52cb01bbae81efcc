/*
 * How values become texts of PostgreSQL. Events, sessions and snapshots are stored as JSON text, not `jsonb`, which would reject
 * some of them and reorder the rest. Ids and keys are stored as they are, except for two characters.
 */

/**
 * Encodes an id or key, which callers choose, for a column of type `text`, which cannot hold a NUL. Encoded texts sort like the
 * originals, and a prefix stays a prefix.
 */
export function keyText(text: string): string {
  // oxlint-disable-next-line no-control-regex -- NUL is what is encoded, with the character after it as the escape
  return text.replaceAll(/[\u0000\u0001]/g, (character) =>
    character === '\u0000' ? '\u0001\u0001' : '\u0001\u0002',
  )
}

export function fromKeyText(encoded: string): string {
  // oxlint-disable-next-line no-control-regex -- as above
  return encoded.replaceAll(/\u0001[\u0001\u0002]/g, (pair) =>
    pair === '\u0001\u0001' ? '\u0000' : '\u0001',
  )
}

/** Parses what this store wrote. It is trusted, so the caller states its type. */
export function parseStored<T>(json: string): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- trusted, as above
  return JSON.parse(json) as T
}
