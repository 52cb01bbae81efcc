import { viewport } from '../viewport.js'

/** Hit tests are made at this distance, about a line of text: something smaller cannot hide a line. */
const SAMPLE_DISTANCE_PX = 16
const MARGIN_ABOVE_PART_PX = 16

/**
 * Records which parts of a card have been on screen. A part is an element whose content does not change. Content that
 * is still folded away, or not drawn yet, is represented by an obstacle, an element that is removed when the content
 * appears. Everything has been seen when every part has been covered completely and no obstacle is left.
 */
export class SeenTracker {
  readonly #parts = new Map<Element, Coverage>()
  readonly #obstacles = new Set<Element>()
  readonly #onChange: () => void
  #isSeen = true

  constructor(onChange: () => void) {
    this.#onChange = onChange
  }

  get isSeen(): boolean {
    return this.#isSeen
  }

  addPart(element: Element): () => void {
    this.#parts.set(element, new Coverage())
    this.#update()
    return () => {
      this.#parts.delete(element)
      this.#update()
    }
  }

  addObstacle(element: Element): () => void {
    this.#obstacles.add(element)
    this.#update()
    return () => {
      this.#obstacles.delete(element)
      this.#update()
    }
  }

  /** Adds what is on screen now to the coverage of each part. */
  measure(): void {
    for (const [element, coverage] of this.#parts) if (!coverage.isComplete) measurePart(element, coverage)
    this.#update()
  }

  /**
   * Scrolls to the first part that has not been on screen, and presses it if it is a button that unfolds something.
   */
  showNext(): void {
    const unseen = [...this.#parts].filter(([, coverage]) => !coverage.isComplete)
    const [first] = [...unseen.map(([element]) => element), ...this.#obstacles].toSorted(byPosition)
    if (!first) return
    const from = this.#parts.get(first)?.gaps()[0]?.from ?? 0
    scrollTo(first, from)
    if (first instanceof HTMLButtonElement) pressInPlace(first)
  }

  #update(): void {
    const isSeen = this.#obstacles.size === 0 && [...this.#parts.values()].every((part) => part.isComplete)
    if (isSeen === this.#isSeen) return
    this.#isSeen = isSeen
    this.#onChange()
  }
}

function measurePart(element: Element, coverage: Coverage): void {
  const { left, top, width, height } = viewport.rectOf(element)
  coverage.resize(width, height)
  if (height === 0 || left < -1 || left + width > window.innerWidth + 1) return
  const visible: PixelRange = { from: Math.max(0, -top), to: Math.min(height, window.innerHeight - top) }
  for (const gap of coverage.gaps()) {
    const to = Math.min(gap.to, visible.to)
    for (let from = Math.max(gap.from, visible.from); from < to; from += SAMPLE_DISTANCE_PX) {
      const end = Math.min(from + SAMPLE_DISTANCE_PX, to)
      const y = top + (from + end) / 2
      const isPainted = [0.25, 0.75].every((share) => viewport.isPaintedAt(element, left + width * share, y))
      if (isPainted) coverage.add(from, end)
    }
  }
}

/** Leaves the focus where it was, so that keyboard users stay at the control that they pressed. */
function pressInPlace(button: HTMLButtonElement): void {
  const { activeElement } = document
  button.click()
  if (activeElement instanceof HTMLElement && activeElement !== button) {
    activeElement.focus({ preventScroll: true })
  }
}

function scrollTo(element: Element, offset: number): void {
  const scroller = scrollerOf(element)
  const edge = scroller === document.scrollingElement ? 0 : viewport.rectOf(scroller).top
  scroller.scrollTop += viewport.rectOf(element).top + offset - edge - MARGIN_ABOVE_PART_PX
}

function scrollerOf(element: Element): Element {
  for (let parent = element.parentElement; parent; parent = parent.parentElement) {
    const canScroll = /auto|scroll/.test(getComputedStyle(parent).overflowY)
    if (canScroll && parent.scrollHeight > parent.clientHeight) return parent
  }
  return document.scrollingElement ?? document.documentElement
}

function byPosition(one: Element, other: Element): number {
  return one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1
}

/** A range of a part's height, in pixels from its top. */
export interface PixelRange {
  from: number
  to: number
}

/** Borders and zoom levels cause rounding errors: a gap of this size hides nothing. */
const TOLERANCE_PX = 2

/**
 * The ranges of a part's height that have been on screen. Seeing the end is not enough: a person who jumps there has
 * not seen the middle.
 */
export class Coverage {
  #height = 0
  #width = 0
  #seen: PixelRange[] = []
  #isComplete = false

  get isComplete(): boolean {
    return this.#isComplete
  }

  /** A new layout moves the content to other pixels, so a part that was not covered completely starts over. */
  resize(width: number, height: number): void {
    if (Math.abs(width - this.#width) < 1 && Math.abs(height - this.#height) < 1) return
    this.#width = width
    this.#height = height
    this.#seen = []
  }

  add(from: number, to: number): void {
    const merged: PixelRange[] = []
    let current = { from, to }
    for (const range of this.#seen) {
      if (range.to < current.from || range.from > current.to) merged.push(range)
      else current = { from: Math.min(range.from, current.from), to: Math.max(range.to, current.to) }
    }
    this.#seen = [...merged, current].toSorted((one, other) => one.from - other.from)
    // A part without a height is not laid out, so nobody can have seen it.
    if (this.#height > 0 && this.gaps().length === 0) this.#isComplete = true
  }

  /** The ranges that have not been on screen yet, from the top. */
  gaps(): PixelRange[] {
    const gaps: PixelRange[] = []
    let from = 0
    for (const range of [...this.#seen, { from: this.#height, to: this.#height }]) {
      if (range.from - from > TOLERANCE_PX) gaps.push({ from, to: range.from })
      from = Math.max(from, range.to)
    }
    return gaps
  }
}
