/**
 * A PostgreSQL text cannot hold a NUL, and callers may choose ids and keys that do. This keeps the order of the texts and
 * what is a prefix of what.
 */
export function keyText(text: string): string {
  // oxlint-disable-next-line no-control-regex -- these two are what it is about
  return text.replaceAll(/[\u0000\u0001]/g, (character) =>
    character === '\u0000' ? '\u0001\u0001' : '\u0001\u0002',
  )
}

export function fromKeyText(stored: string): string {
  // oxlint-disable-next-line no-control-regex -- as above
  return stored.replaceAll(/\u0001[\u0001\u0002]/g, (pair) => (pair === '\u0001\u0001' ? '\u0000' : '\u0001'))
}

/** Sorts after every text that begins with the prefix. */
export function endOfPrefix(prefix: string): string {
  return `${prefix}\u{10ffff}`
}
