/** Something that has its place in one order over all sessions; places only grow. */
export interface Placed {
  readonly place: number
}

/** The index of the first item beyond `place`. */
export function indexAfter(items: readonly Placed[], place: number): number {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (items[middle]!.place > place) high = middle
    else low = middle + 1
  }
  return low
}

/** Keeps items in the order they came while any of them may leave: eight bytes an item, and paging needs no scan. */
export class PlacedList<T extends Placed> {
  #items: T[] = []
  #gone = 0
  readonly #isGone: (item: T) => boolean

  constructor(isGone: (item: T) => boolean) {
    this.#isGone = isGone
  }

  get size(): number {
    return this.#items.length - this.#gone
  }

  add(item: T): void {
    // A first push would make room for sixteen more, in each of a hundred thousand sessions.
    if (this.#items.length === 0) this.#items = [item]
    else this.#items.push(item)
  }

  /** Says that one item of the list has become one that is gone. */
  leave(): void {
    this.#gone += 1
    if (this.#gone < 32 || this.#gone * 2 < this.#items.length) return
    this.#items = this.#items.filter((item) => !this.#isGone(item))
    this.#gone = 0
  }

  after(place: number, limit: number): T[] {
    const found: T[] = []
    for (
      let index = indexAfter(this.#items, place);
      index < this.#items.length && found.length < limit;
      index++
    ) {
      const item = this.#items[index]!
      if (!this.#isGone(item)) found.push(item)
    }
    return found
  }
}
