import { useEffect, useRef } from 'react'

/** Calls `onFocus` with the id of each card that gets the focus, itself or one of its controls. */
export function useFocusedInteraction(onFocus: (interactionId: string) => void): void {
  const latest = useRef(onFocus)
  useEffect(() => {
    latest.current = onFocus
  })
  useEffect(() => {
    const look = (element: EventTarget | null) => {
      const card = element instanceof Element ? element.closest('[data-interaction]') : null
      const interactionId = card?.getAttribute('data-interaction')
      if (interactionId) latest.current(interactionId)
    }
    const onFocusIn = (event: FocusEvent) => look(event.target)
    look(document.activeElement)
    document.addEventListener('focusin', onFocusIn)
    return () => document.removeEventListener('focusin', onFocusIn)
  }, [])
}
