import { useCallback, useEffect, useLayoutEffect, useRef, useState, type RefObject } from 'react'

const NEAR = 48

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
    element.scrollTop = element.scrollHeight
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
      const isNear = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR
      // Only a person scrolls up; that the end has moved on since is no reason to stay behind.
      if (isNear || element.scrollTop < top) wants.current = isNear
      top = element.scrollTop
      setAtEnd(wants.current)
    }
    element.addEventListener('scroll', onScroll, { passive: true })
    const observer = new ResizeObserver(() => {
      if (wants.current) element.scrollTop = element.scrollHeight
    })
    observer.observe(inner)
    return () => {
      element.removeEventListener('scroll', onScroll)
      observer.disconnect()
    }
  }, [scroller, content])

  return { isAtEnd, goToEnd }
}
