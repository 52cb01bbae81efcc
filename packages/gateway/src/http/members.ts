/**
 * A set whose members come and go by the thousand. The table that a `Set` outgrew still points at the one it has now, and
 * once such a table is old, all that was ever in them grows old with it. Here that is an empty shell each.
 */
export class Members<T> implements Iterable<T> {
  readonly #shells = new Set<{ member: T | null }>()

  /** Returns what takes it out again. */
  add(member: T): () => void {
    const shell: { member: T | null } = { member }
    this.#shells.add(shell)
    return () => {
      shell.member = null
      this.#shells.delete(shell)
    }
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const { member } of this.#shells) if (member !== null) yield member
  }
}
