import type { Interaction } from '@askback/protocol'
import { useEffect, useRef, type RefObject } from 'react'

/** The card that had the focus last. The card of a request that is asked again takes the focus over from it. */
let lastFocused: { requestId: string; card: Element } | null = null

/**
 * Keeps people who work by keys where they are when the control with the focus goes: on the card once that is settled, and
 * on the first field with an error where the gateway refused the values and asks again, on a new card.
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
    if (repromptOf !== undefined && isLeftBy(repromptOf)) {
      const field = element.querySelector<HTMLElement>('[data-wrong] :is(input, select, textarea, button)')
      ;(field ?? element).focus()
    }
    const onFocusIn = () => {
      hadFocus.current = true
      lastFocused = { requestId, card: element }
    }
    const onFocusOut = ({ target }: FocusEvent) => {
      // Browsers also send this event for a control that is about to be removed: a moment later it is not connected.
      queueMicrotask(() => {
        if (lastFocused?.card === element && hasLeft(target)) lastFocused = null
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

function isLeftBy(requestId: string): boolean {
  if (lastFocused?.requestId !== requestId) return false
  const { activeElement } = document
  return activeElement === document.body || lastFocused.card.contains(activeElement)
}

/** By the person: not because the control was disabled or removed, or another window came to the front. */
function hasLeft(control: EventTarget | null): boolean {
  if (!(control instanceof HTMLElement) || !control.isConnected || control.matches(':disabled')) return false
  return document.activeElement !== control
}
