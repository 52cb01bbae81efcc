/** A rule of the protocol that a run has broken. */
export class Violation extends Error {
  override readonly name = 'Violation'
}

/** `rule` is an id of docs/PROTOCOL.md, or a keyword for a rule that the page states in prose. */
export function holds(condition: boolean, rule: string, broken: () => string): asserts condition {
  if (!condition) throw new Violation(`[${rule}] ${broken()}`)
}
