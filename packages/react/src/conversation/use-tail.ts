import { useEffect, useLayoutEffect, useRef, useState, type RefObject } from 'react'
import type { Row } from './rows.js'

/** A screen full: the rest of the past is drawn after what somebody came for. */
const FIRST = 20
/** So much of the past as can be drawn in a frame, and the next of it in the next: nobody who scrolls notices. */
const STEP = 10
/** It is there before somebody is: two screens and more above. */
const AHEAD = '1800px 0px 0px'
/** Who comes back to the end after a long look at the past needs none of it any more. */
const KEEP = 240

export interface Tail {
  shown: Row[]
  /** Earlier ones that still wait for an answer: they never leave the page. */
  waitingBefore: Row[]
  hasMore: boolean
  sentinel: RefObject<HTMLDivElement | null>
}

interface TailOptions {
  scroller: RefObject<HTMLElement | null>
  isAtEnd: boolean
  loadOlder: (() => void) | null
}

/**
 * Draws the end of a conversation, and what came before it when somebody scrolls there. Rows outside of the view are
 * skipped by the browser (`content-visibility`), so that the page has real heights, and can be searched and selected.
 */
export function useTail(rows: Row[], { scroller, isAtEnd, loadOlder }: TailOptions): Tail {
  const [first, setFirst] = useState<string | null>(null)
  const sentinel = useRef<HTMLDivElement>(null)
  const anchored = first === null ? -1 : rows.findIndex(({ key }) => key === first)
  const start = anchored >= 0 ? anchored : Math.max(0, rows.length - FIRST)
  const hasMore = start > 0
  const shown = rows.slice(start)
  const keepPlace = useKeepPlace(scroller, shown[0]?.key)

  const latest = useRef({ rows, start, loadOlder })
  latest.current = { rows, start, loadOlder }

  useEffect(() => {
    const element = sentinel.current
    if (!element || !scroller.current) return
    const observer = new IntersectionObserver(
      (entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return
        const { rows: all, start: from, loadOlder: load } = latest.current
        if (from === 0) return load?.()
        keepPlace()
        setFirst(all[Math.max(0, from - STEP)]?.key ?? null)
      },
      { root: scroller.current, rootMargin: AHEAD },
    )
    observer.observe(element)
    return () => observer.disconnect()
    // Anew after each step: a sentinel that stays in view says nothing.
  }, [scroller, start, rows.length === 0, loadOlder === null])

  useEffect(() => {
    if (isAtEnd && rows.length - start > KEEP) setFirst(null)
  }, [isAtEnd, rows.length, start])

  return { shown, waitingBefore: rows.slice(0, start).filter((row) => row.isWaiting), hasMore, sentinel }
}

/**
 * What is added above must not push down what somebody reads. Most browsers see to that themselves, without stopping a wheel
 * that turns, but not at the very top.
 */
function useKeepPlace(scroller: RefObject<HTMLElement | null>, firstKey: string | undefined): () => void {
  const fromEnd = useRef<number | null>(null)
  useLayoutEffect(() => {
    const element = scroller.current
    if (element && fromEnd.current !== null) element.scrollTop = element.scrollHeight - fromEnd.current
    fromEnd.current = null
  }, [scroller, firstKey])
  return () => {
    const element = scroller.current
    if (!element || (element.scrollTop > 0 && CSS.supports('overflow-anchor', 'auto'))) return
    fromEnd.current = element.scrollHeight - element.scrollTop
  }
}
