import type { Interaction } from '@askback/protocol'
import { useEffect, useRef, useState, type RefObject } from 'react'

// How the focus moves between cards, stays on them, and is followed. The focus goes to the card itself and never to a
// control that decides something, so that a key press meant for something else cannot answer a request.

/**
 * Scrolls to the card of an interaction and focuses it. Returns `false` if the card is not on the page.
 *
 * @example
 * if (!focusInteraction(interactionId)) location.hash = `#/s/${sessionId}`
 */
export function focusInteraction(interactionId: string): boolean {
  return focusCard(document.querySelector(`[data-interaction="${CSS.escape(interactionId)}"]`))
}

/**
 * Focuses the next card that waits for an answer after the focused element, or with `-1` the previous one. Returns
 * `false` if there is none in that direction.
 *
 * @default within the whole document
 * @example
 * if (event.key === 'j') focusNextInteraction(1)
 */
export function focusNextInteraction(step: 1 | -1, within: ParentNode = document): boolean {
  const cards = [...within.querySelectorAll('.ab-card:not([data-phase="settled"])')]
  const from = document.activeElement
  if (!from || from === document.body) return focusCard(cards.at(step > 0 ? 0 : -1))
  const others = cards.filter((card) => !card.contains(from))
  const isAfter = (card: Element) =>
    (from.compareDocumentPosition(card) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0
  return focusCard(step > 0 ? others.find(isAfter) : others.findLast((card) => !isAfter(card)))
}

/** Focuses the card of a control that is about to be removed, so that keyboard users keep their place. */
export function focusEnclosingCard(control: Element): void {
  control.closest<HTMLElement>('.ab-card')?.focus({ preventScroll: true })
}

function focusCard(card: Element | null | undefined): boolean {
  if (!(card instanceof HTMLElement)) return false
  // A card that is higher than the window is shown from its beginning, where one has to start reading.
  const isTall = card.offsetHeight > document.documentElement.clientHeight
  card.scrollIntoView({ block: isTall ? 'start' : 'nearest' })
  card.focus({ preventScroll: true })
  return true
}

/** The last card with the focus, from which the card of a reprompt takes over the focus. */
let lastFocused: { requestId: string; card: Element } | null = null

/**
 * Keeps the focus near its place when the focused control is removed: on the card when it is settled, and on the first
 * field with an error when the gateway refused the values and asks again on a new card.
 */
export function useKeepFocus(
  card: RefObject<HTMLElement | null>,
  { interactionId, repromptOf }: Interaction,
  isDone: boolean,
): void {
  const hadFocus = useRef(false)
  const requestId = repromptOf ?? interactionId

  useEffect(() => {
    const element = card.current
    if (!element) return
    if (repromptOf !== undefined && hasFocusOf(repromptOf)) {
      const field = element.querySelector<HTMLElement>('[data-wrong] :is(input, select, textarea, button)')
      ;(field ?? element).focus()
    }
    const onFocusIn = () => {
      hadFocus.current = true
      lastFocused = { requestId, card: element }
    }
    const onFocusOut = ({ target }: FocusEvent) => {
      // Browsers also send this event for a control that is about to be removed, which is disconnected a moment later.
      queueMicrotask(() => {
        if (lastFocused?.card === element && wasLeftByPerson(target)) lastFocused = null
      })
    }
    if (element.contains(document.activeElement)) onFocusIn()
    element.addEventListener('focusin', onFocusIn)
    element.addEventListener('focusout', onFocusOut)
    return () => {
      element.removeEventListener('focusin', onFocusIn)
      element.removeEventListener('focusout', onFocusOut)
    }
  }, [card, requestId, repromptOf])

  useEffect(() => {
    const isLost = document.activeElement === document.body
    if (isDone && hadFocus.current && isLost) card.current?.focus({ preventScroll: true })
  }, [card, isDone])
}

/** Whether the card of this request has the focus, or lost it only because its focused control was removed. */
function hasFocusOf(requestId: string): boolean {
  if (lastFocused?.requestId !== requestId) return false
  const { activeElement } = document
  return activeElement === document.body || lastFocused.card.contains(activeElement)
}

/** Not because the control was disabled or removed, or because another window came to the front. */
function wasLeftByPerson(control: EventTarget | null): boolean {
  if (!(control instanceof HTMLElement) || !control.isConnected || control.matches(':disabled')) return false
  return document.activeElement !== control
}

/**
 * `false` in the first render and `true` afterwards. A text field that opens later was requested by the person and takes
 * the focus; one that a stored draft opens together with the card does not.
 */
export function useHasMounted(): boolean {
  const [hasMounted, setHasMounted] = useState(false)
  // oxlint-disable-next-line react/set-state-in-effect -- the second render is the purpose of this hook
  useEffect(() => setHasMounted(true), [])
  return hasMounted
}

/** Calls `onFocus` with the interaction of each card that gets the focus, on itself or on one of its controls. */
export function useFocusedInteraction(onFocus: (interactionId: string) => void): void {
  const latest = useRef(onFocus)
  useEffect(() => {
    latest.current = onFocus
  })
  useEffect(() => {
    const report = (element: EventTarget | null) => {
      const card = element instanceof Element ? element.closest('[data-interaction]') : null
      const interactionId = card?.getAttribute('data-interaction')
      if (interactionId) latest.current(interactionId)
    }
    const onFocusIn = (event: FocusEvent) => report(event.target)
    report(document.activeElement)
    document.addEventListener('focusin', onFocusIn)
    return () => document.removeEventListener('focusin', onFocusIn)
  }, [])
}
