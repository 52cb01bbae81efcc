/** A promise of the protocol that a run has broken. */
export class Violation extends Error {
  override readonly name = 'Violation'
}

/** `rule` is the id of the protocol page, or a word of its own for what the page says in prose. */
export function holds(condition: boolean, rule: string, broken: () => string): asserts condition {
  if (!condition) throw new Violation(`[${rule}] ${broken()}`)
}
