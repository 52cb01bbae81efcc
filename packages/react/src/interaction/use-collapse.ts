import { useLayoutEffect, useRef, type RefObject } from 'react'

const MS = 220

/** Lets an element glide to its new height when `state` changes, instead of jumping there. */
export function useCollapse(element: RefObject<HTMLElement | null>, state: unknown): void {
  const height = useRef<number | null>(null)
  const last = useRef(state)

  useLayoutEffect(() => {
    const target = element.current
    if (!target) return
    const before = height.current
    height.current = target.offsetHeight
    if (last.current === state) return
    last.current = state
    if (before === null || before === height.current || prefersStill() || !('animate' in target)) return
    target.animate(
      [
        { height: `${before}px`, overflow: 'hidden' },
        { height: `${height.current}px`, overflow: 'hidden' },
      ],
      { duration: MS, easing: 'cubic-bezier(0.2, 0, 0, 1)' },
    )
  })
}

function prefersStill(): boolean {
  return window.matchMedia('(prefers-reduced-motion: reduce)').matches
}
