import { useCallback, useEffect, useLayoutEffect, useRef, useState, type RefObject } from 'react'

const NEAR_END_PX = 48
const OPEN_CARD = '.ab-card:not([data-phase=settled])'
const MARGIN_ABOVE_CARD_PX = 12

/** Whether the end is in view, and how to get there. */
export interface StickToEnd {
  isAtEnd: boolean
  goToEnd: () => void
}

/**
 * Keeps the end of a scroller in view while content is added, for as long as the person is at the end. A person who
 * scrolls up stays there until they return to the end or call `goToEnd`.
 *
 * A card that is higher than the view counts from its beginning: "the end" is then where the card starts.
 */
export function useStickToEnd(
  scroller: RefObject<HTMLElement | null>,
  content: RefObject<HTMLElement | null>,
): StickToEnd {
  const [isAtEnd, setAtEnd] = useState(true)
  const isFollowing = useRef(true)

  const goToEnd = useCallback(() => {
    const element = scroller.current
    if (!element) return
    isFollowing.current = true
    scrollForward(element)
    setAtEnd(true)
  }, [scroller])

  useLayoutEffect(() => {
    if (isFollowing.current) goToEnd()
  })

  useEffect(() => {
    const element = scroller.current
    const inner = content.current
    if (!element || !inner) return
    let top = element.scrollTop
    const onScroll = () => {
      const isNear = endPosition(element) - element.scrollTop < NEAR_END_PX
      // Only a person scrolls up. A greater distance without that means that the end has moved on, which must not
      // stop the following.
      if (isNear || element.scrollTop < top) isFollowing.current = isNear
      top = element.scrollTop
      setAtEnd(isFollowing.current)
    }
    element.addEventListener('scroll', onScroll, { passive: true })
    const observer = new ResizeObserver(() => {
      if (isFollowing.current) scrollForward(element)
    })
    observer.observe(inner)
    return () => {
      element.removeEventListener('scroll', onScroll)
      observer.disconnect()
    }
  }, [scroller, content])

  return { isAtEnd, goToEnd }
}

/** Scrolls forward only: a person who has read on in a tall card stays there. */
function scrollForward(element: HTMLElement): void {
  const end = endPosition(element)
  if (element.scrollTop < end) element.scrollTop = end
}

/** The scroll position of the end; of a tall open card at the end, the position of its beginning. */
function endPosition(element: HTMLElement): number {
  const end = element.scrollHeight - element.clientHeight
  const card = [...element.querySelectorAll<HTMLElement>(OPEN_CARD)].at(-1)
  if (!card || card.offsetHeight < element.clientHeight) return end
  const above = card.getBoundingClientRect().top - element.getBoundingClientRect().top
  return Math.min(end, element.scrollTop + above - MARGIN_ABOVE_CARD_PX)
}
