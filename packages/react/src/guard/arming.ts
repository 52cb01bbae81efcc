import { onPointerMove, pointer, viewport, type Point } from '../viewport.js'

/** Nobody can react to something that appeared less than this long ago. */
export const ARM_MS = 300

/** A hand that rests on a mouse moves it by less than this. */
const MIN_MOVE_PX = 3

export type PressResult = 'accepted' | 'moved' | 'resting_pointer'

/**
 * Decides whether a press on the controls of a card can be meant for them. A press by mistake would approve a
 * command.
 *
 * - New controls become armed 300 ms after they appear, and again 300 ms after the person returns to the window.
 * - After a layout change has moved them, they refuse pointer presses for 300 ms. Key presses are accepted, as a key
 *   acts on the focused element wherever that is. Scrolling is not a layout change.
 * - Controls that appeared under a pointer that has not moved since, also by scrolling, refuse its first press: that
 *   was aimed at what was there before.
 * - A press within 300 ms after a refused one is refused too, as the rest of a double click or of a series of clicks.
 *
 *   not armed --300 ms--> armed
 *   armed --window focused again--> not armed
 *   armed --layout moves controls--> moving --300 ms without a move--> armed
 *   armed --controls appear under a resting pointer--> resting --one press, or the pointer moves--> armed
 */
export class Arming {
  readonly #findControls: () => Element | null
  readonly #onChange: () => void
  #position: ControlsPosition | null = null
  #isArmed = false
  #isMoving = false
  #armTimer: ReturnType<typeof setTimeout> | undefined
  #restTimer: ReturnType<typeof setTimeout> | undefined
  /** Why the last press was refused; `null` after 300 ms without a press. */
  #refusal: Exclude<PressResult, 'accepted'> | null = null
  #refusalTimer: ReturnType<typeof setTimeout> | undefined
  /** The position of the pointer when the controls appeared under it; `null` once it has moved or pressed. */
  #restingAt: Point | null = null

  /** `findControls` is called for each check, as a card replaces its controls when its state changes. */
  constructor(findControls: () => Element | null, onChange: () => void) {
    this.#findControls = findControls
    this.#onChange = onChange
  }

  get isArmed(): boolean {
    return this.#isArmed
  }

  /** A layout change moved the controls less than 300 ms ago. */
  get isMoving(): boolean {
    return this.#isMoving
  }

  start(): () => void {
    const stopWatching = onPointerMove(this.#onPointerMove)
    window.addEventListener('focus', this.#restart)
    this.#position = positionOf(this.#findControls())
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

  /** Compares the position of the controls with that of the last check. */
  check(): void {
    const before = this.#position
    const position = positionOf(this.#findControls())
    this.#position = position
    if (!position || (before && isSamePoint(before.onScreen, position.onScreen))) return
    this.#restingAt = this.#isUnderPointer() ? pointer.at : null
    if (before && isSamePoint(before.inContent, position.inContent)) return
    clearTimeout(this.#restTimer)
    this.#restTimer = setTimeout(() => this.#setMoving(false), ARM_MS)
    this.#setMoving(true)
  }

  press(isByPointer: boolean): PressResult {
    if (!isByPointer) return 'accepted'
    // The controls may have moved since the last regular check.
    this.check()
    if (this.#isMoving) return this.#refuse('moved')
    if (this.#restingAt !== null) {
      this.#restingAt = null
      return this.#refuse('resting_pointer')
    }
    return this.#refusal === null ? 'accepted' : this.#refuse(this.#refusal)
  }

  /** Extends the refusal: nobody can read within 300 ms that a press was refused. */
  #refuse(why: Exclude<PressResult, 'accepted'>): PressResult {
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

  /**
   * Runs before `pointer.at` changes, so that `check` compares with where the pointer was when the controls moved.
   */
  readonly #onPointerMove = (to: Point): void => {
    this.check()
    if (!this.#restingAt) return
    const { x, y } = this.#restingAt
    if (Math.hypot(to.x - x, to.y - y) >= MIN_MOVE_PX) this.#restingAt = null
  }

  #isUnderPointer(): boolean {
    const controls = this.#findControls()
    if (!controls || !pointer.at) return false
    const { left, right, top, bottom } = viewport.rectOf(controls)
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

interface ControlsPosition {
  onScreen: Point
  /** Independent of how far the person has scrolled. */
  inContent: Point
}

function positionOf(controls: Element | null): ControlsPosition | null {
  if (!controls) return null
  const { left: x, top: y } = viewport.rectOf(controls)
  const scrolled = { x: 0, y: 0 }
  for (let element = controls.parentElement; element; element = element.parentElement) {
    scrolled.x += element.scrollLeft
    scrolled.y += element.scrollTop
  }
  return { onScreen: { x, y }, inContent: { x: x + scrolled.x, y: y + scrolled.y } }
}

function isSamePoint(one: Point, other: Point): boolean {
  return Math.abs(one.x - other.x) < 1 && Math.abs(one.y - other.y) < 1
}
