/** A stretch of a part's height, in pixels from its top. */
export interface Stretch {
  from: number
  to: number
}

/** Rounding of borders and zoom levels: a gap of this many pixels hides nothing. */
const TOLERANCE_PX = 2

/**
 * Which pixels of a part's height have been on screen. Seeing the end is not enough: someone who jumps there has not seen
 * the middle.
 */
export class Coverage {
  #height = 0
  #width = 0
  #seen: Stretch[] = []
  #isComplete = false

  get isComplete(): boolean {
    return this.#isComplete
  }

  /** A part that is laid out anew has other pixels: one that was seen only in part starts over. */
  resize(width: number, height: number): void {
    if (Math.abs(width - this.#width) < 1 && Math.abs(height - this.#height) < 1) return
    this.#width = width
    this.#height = height
    this.#seen = []
  }

  add(from: number, to: number): void {
    const merged: Stretch[] = []
    let current = { from, to }
    for (const stretch of this.#seen) {
      if (stretch.to < current.from || stretch.from > current.to) merged.push(stretch)
      else current = { from: Math.min(stretch.from, current.from), to: Math.max(stretch.to, current.to) }
    }
    this.#seen = [...merged, current].toSorted((one, other) => one.from - other.from)
    // Without a height it is not laid out, and nobody can have seen it.
    if (this.#height > 0 && this.gaps().length === 0) this.#isComplete = true
  }

  /** What has not been on screen yet, from the top. */
  gaps(): Stretch[] {
    const gaps: Stretch[] = []
    let from = 0
    for (const stretch of [...this.#seen, { from: this.#height, to: this.#height }]) {
      if (stretch.from - from > TOLERANCE_PX) gaps.push({ from, to: stretch.from })
      from = Math.max(from, stretch.to)
    }
    return gaps
  }
}
