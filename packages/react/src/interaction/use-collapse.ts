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
    const frame = last.current === state ? null : target.parentElement
    // To measure the new height lays out the page with it. If the page were shorter then, it would scroll, and a conversation
    // that follows its end would take that for a person who scrolls up.
    if (frame) frame.style.minHeight = `${before ?? 0}px`
    height.current = target.offsetHeight
    last.current = state
    if (!frame) return
    if (before !== null && before !== height.current && !prefersStill() && 'animate' in target)
      glide(target, before, height.current)
    frame.style.removeProperty('min-height')
  })
}

function glide(target: HTMLElement, from: number, to: number): void {
  target.animate(
    [
      { height: `${from}px`, overflow: 'hidden' },
      { height: `${to}px`, overflow: 'hidden' },
    ],
    { duration: MS, easing: 'cubic-bezier(0.2, 0, 0, 1)' },
  )
}

function prefersStill(): boolean {
  return window.matchMedia('(prefers-reduced-motion: reduce)').matches
}
