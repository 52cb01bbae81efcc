import {
  createContext,
  useContext,
  useCallback,
  useEffect,
  useState,
  useSyncExternalStore,
  type RefCallback,
  type RefObject,
} from 'react'
import type { Label } from '../labels.js'
import { useAttachedRef } from '../use-attached-ref.js'
import { watchScreen } from '../viewport.js'
import { Arming, type PressResult } from './arming.js'
import { SeenTracker } from './seen-tracker.js'

const CONTROLS = '.ab-card-footer'

/**
 * Protects a card against blind and accidental decisions: it knows whether everything that the person decides on has
 * been on screen (`isSeen`), and whether a press can be meant for this card (`isArmed`, `acceptsPress`). Create it
 * with `useCardGuard`; `InteractionCard` attaches it to the card's element and provides it to its children.
 */
export class CardGuard {
  readonly #listeners = new Set<() => void>()
  readonly #seen = new SeenTracker(() => this.#changed())
  readonly #arming = new Arming(
    () => this.#card?.querySelector(CONTROLS) ?? this.#card,
    () => this.#changed(),
  )
  #card: Element | null = null
  #notice: Label | null = null
  #timesShownNext = 0
  #version = 0
  #isMeasureQueued = false

  /** Whether the controls have been on screen for 300 ms. Before that, nothing may be decided, by pointer or key. */
  get isArmed(): boolean {
    return this.#arming.isArmed
  }

  /** Whether a layout change moved the controls less than 300 ms ago: `acceptsPress` refuses pointer presses. */
  get isMoving(): boolean {
    return this.#arming.isMoving
  }

  /**
   * Whether every part marked by `useMustSee` has been on screen with its whole height, and nothing is folded away.
   */
  get isSeen(): boolean {
    return this.#seen.isSeen
  }

  /** Why the last press was refused, as a sentence for the person, which `useLabels` translates; `null` if it was accepted. */
  get notice(): Label | null {
    return this.#notice
  }

  /** How often `showNext` was called. */
  get timesShownNext(): number {
    return this.#timesShownNext
  }

  /** Scrolls to the first part that has not been on screen, and unfolds it if it is folded away. */
  showNext(): void {
    this.#timesShownNext += 1
    this.#seen.showNext()
    this.#changed()
  }

  /** Whether a press on a control may decide something. Call it first in `onClick`; a refusal sets `notice`. */
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
    // Parts that are drawn together are measured together, without waiting for the next regular check.
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

const notices: Record<PressResult, Label | null> = {
  accepted: null,
  moved: 'This moved just now. Check it, then press again.',
  resting_pointer: 'This came under your pointer. Check it, then press again.',
}

/** Provided by `InteractionCard`; `null` outside of cards and around content that need not be seen. */
export const CardGuardContext = createContext<CardGuard | null>(null)

/**
 * Creates the guard of a card, and renders again when it changes. Pass it to `InteractionCard`, mark what must be
 * seen with `useMustSee` or `MustSee`, disable controls that approve while `isArmed` or `isSeen` is false, and call
 * `acceptsPress` when one is pressed.
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

/** Attaches the guard to the card's element for as long as the card takes an answer. */
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
 * Returns a ref for an element whose whole height must have been on screen before its card can be approved. The
 * content of the element must not change: content that appears later needs an element of its own.
 *
 * @example
 * const mustSee = useMustSee()
 * return <pre ref={mustSee}>{command}</pre>
 */
export function useMustSee(): RefCallback<HTMLElement> {
  const guard = useContext(CardGuardContext)
  return useAttachedRef(useCallback((element: HTMLElement) => guard?.addPart(element), [guard]))
}

/**
 * Returns a ref for an element that stands for content that is not drawn yet, such as a fold. While it is on the
 * page, the card can't be approved.
 */
export function useObstacle(): RefCallback<HTMLElement> {
  const guard = useContext(CardGuardContext)
  return useAttachedRef(useCallback((element: HTMLElement) => guard?.addObstacle(element), [guard]))
}
