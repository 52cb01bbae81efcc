import { pointer, watchPointer, type Point } from '../pointer.js'
import { screen } from './screen.js'

/** Nobody can have reacted to something that appeared less than this ago. */
export const ARM_MS = 300

/** A hand that rests on a mouse trembles. */
const MOVED_PX = 3

export type Press = 'accepted' | 'moved' | 'resting_pointer'

/**
 * Decides whether a press on a card's controls can be meant for them.
 *
 * - New controls arm after 300 ms, and again after the person returns to the window.
 * - After the layout has moved them they take no press of a pointer for 300 ms. A press of a key is aimed at what has the
 *   focus, wherever that is, and scrolling is no change of the layout.
 * - Controls that came under a pointer which has not moved since, also by scrolling, ignore one press of it: that was aimed
 *   at what was there before.
 * - A press that follows a refused one within 300 ms is refused too, as the rest of a double click or of a series.
 */
export class Arming {
  readonly #findControls: () => Element | null
  readonly #onChange: () => void
  #place: Place | null = null
  #isArmed = false
  #isMoving = false
  #armTimer: ReturnType<typeof setTimeout> | undefined
  #restTimer: ReturnType<typeof setTimeout> | undefined
  /** Why the last press was refused, until a pause of 300 ms. */
  #refusal: Exclude<Press, 'accepted'> | null = null
  #refusalTimer: ReturnType<typeof setTimeout> | undefined
  /** Where the pointer rested when the controls came under it. */
  #restingAt: Point | null = null

  /** `findControls` is called each time, as a card draws other controls when it changes its state. */
  constructor(findControls: () => Element | null, onChange: () => void) {
    this.#findControls = findControls
    this.#onChange = onChange
  }

  get isArmed(): boolean {
    return this.#isArmed
  }

  /** Moved by the layout less than 300 ms ago. */
  get isMoving(): boolean {
    return this.#isMoving
  }

  start(): () => void {
    const stopWatching = watchPointer(this.#onPointerMove)
    window.addEventListener('focus', this.#restart)
    this.#place = placeOf(this.#findControls())
    this.#restart()
    return () => {
      stopWatching()
      window.removeEventListener('focus', this.#restart)
      clearTimeout(this.#armTimer)
      clearTimeout(this.#restTimer)
      clearTimeout(this.#refusalTimer)
      this.#refusal = null
    }
  }

  /** Notices that the controls have moved since the last time. */
  check(): void {
    const before = this.#place
    const place = placeOf(this.#findControls())
    this.#place = place
    if (!place || (before && isSame(before.onScreen, place.onScreen))) return
    this.#restingAt = this.#isUnderPointer() ? pointer.at : null
    if (before && isSame(before.inContent, place.inContent)) return
    clearTimeout(this.#restTimer)
    this.#restTimer = setTimeout(() => this.#setMoving(false), ARM_MS)
    this.#setMoving(true)
  }

  press(isByPointer: boolean): Press {
    if (!isByPointer) return 'accepted'
    // Between two checks the controls may have moved, a moment before this press.
    this.check()
    if (this.#isMoving) return this.#refuse('moved')
    if (this.#restingAt !== null) {
      this.#restingAt = null
      return this.#refuse('resting_pointer')
    }
    return this.#refusal === null ? 'accepted' : this.#refuse(this.#refusal)
  }

  /** Nobody can have read within 300 ms that a press was refused. */
  #refuse(why: Exclude<Press, 'accepted'>): Press {
    this.#refusal = why
    clearTimeout(this.#refusalTimer)
    this.#refusalTimer = setTimeout(() => (this.#refusal = null), ARM_MS)
    return why
  }

  readonly #restart = (): void => {
    clearTimeout(this.#armTimer)
    this.#armTimer = setTimeout(() => this.#setArmed(true), ARM_MS)
    this.#restingAt = this.#isUnderPointer() ? pointer.at : null
    this.#setArmed(false)
  }

  /** Before `pointer.at` changes: controls that moved meanwhile came under the pointer where it was. */
  readonly #onPointerMove = (to: Point): void => {
    this.check()
    if (!this.#restingAt) return
    const { x, y } = this.#restingAt
    if (Math.hypot(to.x - x, to.y - y) >= MOVED_PX) this.#restingAt = null
  }

  #isUnderPointer(): boolean {
    const controls = this.#findControls()
    if (!controls || !pointer.at) return false
    const { left, right, top, bottom } = screen.rectOf(controls)
    const { x, y } = pointer.at
    return x >= left && x <= right && y >= top && y <= bottom
  }

  #setArmed(isArmed: boolean): void {
    if (this.#isArmed === isArmed) return
    this.#isArmed = isArmed
    this.#onChange()
  }

  #setMoving(isMoving: boolean): void {
    if (this.#isMoving === isMoving) return
    this.#isMoving = isMoving
    this.#onChange()
  }
}

interface Place {
  onScreen: Point
  /** The same wherever the person scrolls to. */
  inContent: Point
}

function placeOf(controls: Element | null): Place | null {
  if (!controls) return null
  const { left: x, top: y } = screen.rectOf(controls)
  const scrolled = { x: 0, y: 0 }
  for (let element = controls.parentElement; element; element = element.parentElement) {
    scrolled.x += element.scrollLeft
    scrolled.y += element.scrollTop
  }
  return { onScreen: { x, y }, inContent: { x: x + scrolled.x, y: y + scrolled.y } }
}

function isSame(one: Point, other: Point): boolean {
  return Math.abs(one.x - other.x) < 1 && Math.abs(one.y - other.y) < 1
}
