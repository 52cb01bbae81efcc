import {
  createContext,
  use,
  useCallback,
  useEffect,
  useState,
  useSyncExternalStore,
  type RefCallback,
  type RefObject,
} from 'react'
import { Arming, type Press } from './arming.js'
import { watchScreen } from './screen-watch.js'
import { SeenTracker } from './seen-tracker.js'

const CONTROLS = '.ab-card-footer'

/**
 * Stands between a person and the controls of a card: whether everything that is decided on has been on screen, and whether a
 * press can be meant for this card. `InteractionCard` sets it up around its children.
 */
export class CardGuard {
  readonly #listeners = new Set<() => void>()
  readonly #seen = new SeenTracker(() => this.#changed())
  readonly #arming = new Arming(
    () => this.#card?.querySelector(CONTROLS) ?? this.#card,
    () => this.#changed(),
  )
  #card: Element | null = null
  #notice: string | null = null
  #timesShownNext = 0
  #version = 0
  #isMeasureQueued = false

  /** The controls have been there for 300 ms: before that, nothing may be decided, by pointer or key. */
  get isArmed(): boolean {
    return this.#arming.isArmed
  }

  /** The layout moved the controls less than 300 ms ago: `acceptsPress` refuses the press of a pointer. */
  get isMoving(): boolean {
    return this.#arming.isMoving
  }

  /** Every part that `useMustSee` marks has been on screen, all of its height, and nothing is folded away. */
  get isSeen(): boolean {
    return this.#seen.isSeen
  }

  /** Why the last press did nothing. */
  get notice(): string | null {
    return this.#notice
  }

  /** How often `showNext` was called. */
  get timesShownNext(): number {
    return this.#timesShownNext
  }

  /** Scrolls to the first part that has not been on screen, and opens it where it is folded away. */
  showNext(): void {
    this.#timesShownNext += 1
    this.#seen.showNext()
    this.#changed()
  }

  /** Whether a press on a control may decide something; call it first in the control's `onClick`. */
  acceptsPress(event: { detail: number }): boolean {
    const press = this.#arming.press(event.detail > 0)
    this.#notice = notices[press]
    this.#changed()
    return press === 'accepted'
  }

  /** @internal */
  attach(card: Element): () => void {
    this.#card = card
    const check = () => {
      this.#arming.check()
      this.#seen.measure()
    }
    const stops = [this.#arming.start(), watchScreen(check)]
    check()
    return () => {
      for (const stop of stops) stop()
      this.#card = null
    }
  }

  /** @internal */
  addPart(element: Element): () => void {
    // Together with whatever else is drawn at the same time, and without waiting for the next regular check.
    if (!this.#isMeasureQueued) queueMicrotask(this.#measure)
    this.#isMeasureQueued = true
    return this.#seen.addPart(element)
  }

  /** @internal */
  addObstacle(element: Element): () => void {
    return this.#seen.addObstacle(element)
  }

  /** @internal */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** @internal */
  readonly version = (): number => this.#version

  readonly #measure = (): void => {
    this.#isMeasureQueued = false
    if (this.#card) this.#seen.measure()
  }

  #changed(): void {
    this.#version += 1
    for (const listener of this.#listeners) listener()
  }
}

const notices: Record<Press, string | null> = {
  accepted: null,
  moved: 'This moved just now. Check it, then press again.',
  resting_pointer: 'This came under your pointer. Check it, then press again.',
}

/** Set by `InteractionCard`; `null` around what need not be seen. */
export const CardGuardContext = createContext<CardGuard | null>(null)

/**
 * The guard of a card. Give it to `InteractionCard`, mark what must be seen with `useMustSee` or `MustSee`, disable what
 * approves while `isArmed` or `isSeen` is false, and ask `acceptsPress` when it is pressed.
 *
 * @example
 * const guard = useCardGuard()
 * return (
 *   <InteractionCard control={control} open={open} guard={guard} icon={<Rocket />} title="Deploy">
 *     <MustSee>{changes}</MustSee>
 *     <button
 *       disabled={!guard.isArmed || !guard.isSeen}
 *       onClick={(event) => guard.acceptsPress(event) && void control.respond({ decision: 'approve' })}
 *     >
 *       Deploy
 *     </button>
 *   </InteractionCard>
 * )
 */
export function useCardGuard(): CardGuard {
  const [guard] = useState(() => new CardGuard())
  useSyncExternalStore(guard.subscribe, guard.version, guard.version)
  return guard
}

/** Runs the guard on the card's element, for as long as the card takes an answer. */
export function useGuardedCard(
  guard: CardGuard | undefined,
  card: RefObject<Element | null>,
  isOpen: boolean,
): void {
  useEffect(
    () => (guard && card.current && isOpen ? guard.attach(card.current) : undefined),
    [guard, card, isOpen],
  )
}

/**
 * Marks an element whose whole height must have been on screen before the card can be approved. Its content must not change
 * while it is there: what comes later belongs into an element of its own.
 */
export function useMustSee(): RefCallback<HTMLElement> {
  const guard = use(CardGuardContext)
  return useCallback(
    (element: HTMLElement | null) => (element ? guard?.addPart(element) : undefined),
    [guard],
  )
}

/** Marks an element that stands for something not drawn yet: the card can't be approved while it is there. */
export function useObstacle(): RefCallback<HTMLElement> {
  const guard = use(CardGuardContext)
  return useCallback(
    (element: HTMLElement | null) => (element ? guard?.addObstacle(element) : undefined),
    [guard],
  )
}
