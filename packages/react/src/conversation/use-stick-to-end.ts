import { useCallback, useEffect, useLayoutEffect, useRef, useState, type RefObject } from 'react'

const NEAR = 48
const OPEN_CARD = '.ab-card:not([data-phase=settled])'
const ABOVE_CARD = 12

export interface StickToEnd {
  isAtEnd: boolean
  goToEnd: () => void
}

/** Keeps the end in view while somebody is there; who has scrolled away is left in peace. */
export function useStickToEnd(
  scroller: RefObject<HTMLElement | null>,
  content: RefObject<HTMLElement | null>,
): StickToEnd {
  const [isAtEnd, setAtEnd] = useState(true)
  const wants = useRef(true)

  const goToEnd = useCallback(() => {
    const element = scroller.current
    if (!element) return
    wants.current = true
    follow(element)
    setAtEnd(true)
  }, [scroller])

  useLayoutEffect(() => {
    if (wants.current) goToEnd()
  })

  useEffect(() => {
    const element = scroller.current
    const inner = content.current
    if (!element || !inner) return
    let top = element.scrollTop
    const onScroll = () => {
      const isNear = endOf(element) - element.scrollTop < NEAR
      // Only a person scrolls up; that the end has moved on since is no reason to stay behind.
      if (isNear || element.scrollTop < top) wants.current = isNear
      top = element.scrollTop
      setAtEnd(wants.current)
    }
    element.addEventListener('scroll', onScroll, { passive: true })
    const observer = new ResizeObserver(() => {
      if (wants.current) follow(element)
    })
    observer.observe(inner)
    return () => {
      element.removeEventListener('scroll', onScroll)
      observer.disconnect()
    }
  }, [scroller, content])

  return { isAtEnd, goToEnd }
}

/** Never back: who has read on in a long card stays where they are. */
function follow(element: HTMLElement): void {
  const end = endOf(element)
  if (element.scrollTop < end) element.scrollTop = end
}

/** Of a card that is longer than the view its beginning counts: nobody should decide before they have seen that. */
function endOf(element: HTMLElement): number {
  const end = element.scrollHeight - element.clientHeight
  const card = [...element.querySelectorAll<HTMLElement>(OPEN_CARD)].at(-1)
  if (!card || card.offsetHeight < element.clientHeight) return end
  const above = card.getBoundingClientRect().top - element.getBoundingClientRect().top
  return Math.min(end, element.scrollTop + above - ABOVE_CARD)
}
