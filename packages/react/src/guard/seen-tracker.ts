import { Coverage, type Stretch } from './coverage.js'
import { screen } from './screen.js'

/** About a line of text: what is covered by something smaller can still be read around it. */
const SAMPLE_PX = 16
const ABOVE_PART_PX = 16

/**
 * Follows which parts of a card have been on screen. A part is an element whose content does not change; what is still
 * folded away, or not drawn yet, stands in as an obstacle that is removed when it opens.
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

  /** Takes down what is on screen now. */
  measure(): void {
    for (const [element, coverage] of this.#parts) if (!coverage.isComplete) measurePart(element, coverage)
    this.#update()
  }

  /** Scrolls to the first part that has not been on screen, and opens it where that is a fold. */
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
  const { left, top, width, height } = screen.rectOf(element)
  coverage.resize(width, height)
  if (height === 0 || left < -1 || left + width > window.innerWidth + 1) return
  const visible: Stretch = { from: Math.max(0, -top), to: Math.min(height, window.innerHeight - top) }
  for (const gap of coverage.gaps()) {
    const to = Math.min(gap.to, visible.to)
    for (let from = Math.max(gap.from, visible.from); from < to; from += SAMPLE_PX) {
      const end = Math.min(from + SAMPLE_PX, to)
      const y = top + (from + end) / 2
      const isPainted = [0.25, 0.75].every((share) => screen.isPaintedAt(element, left + width * share, y))
      if (isPainted) coverage.add(from, end)
    }
  }
}

/** Someone who works by keys stays at the control that they pressed. */
function pressInPlace(button: HTMLButtonElement): void {
  const { activeElement } = document
  button.click()
  if (activeElement instanceof HTMLElement && activeElement !== button) {
    activeElement.focus({ preventScroll: true })
  }
}

function scrollTo(element: Element, offset: number): void {
  const scroller = scrollerOf(element)
  const edge = scroller === document.scrollingElement ? 0 : screen.rectOf(scroller).top
  scroller.scrollTop += screen.rectOf(element).top + offset - edge - ABOVE_PART_PX
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
