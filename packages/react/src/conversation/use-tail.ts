import { useCallback, useEffect, useLayoutEffect, useRef, useState, type RefObject } from 'react'
import type { TimelineRow } from './timeline-row.js'

/** About a screen: earlier rows are drawn after these, which the person came for. */
const INITIAL_ROWS = 20
/** As many earlier rows as can be drawn in one frame without a visible pause. */
const ROWS_PER_STEP = 10
/** Rows are added when the person is within this distance of the first one, more than two screens. */
const PRELOAD_MARGIN = '1800px 0px 0px'
/** With more rows than this at the end of the conversation, the earlier ones are removed from the page again. */
const MAX_ROWS_AT_END = 240

export interface Tail {
  shown: TimelineRow[]
  /** Earlier rows that wait for an answer; they are always on the page. */
  waitingBefore: TimelineRow[]
  hasMore: boolean
  /** An element above the first row: when it comes into view, more rows are added. */
  sentinel: RefObject<HTMLDivElement | null>
}

interface TailOptions {
  scroller: RefObject<HTMLElement | null>
  isAtEnd: boolean
  loadOlder: (() => void) | null
}

/**
 * Selects the rows of a conversation that are on the page: those at the end, and earlier ones as the person scrolls
 * up. The browser skips rows outside of the view (`content-visibility`), so that the page has real heights and can be
 * searched and selected, which a virtual list would prevent.
 */
export function useTail(rows: TimelineRow[], { scroller, isAtEnd, loadOlder }: TailOptions): Tail {
  const [firstShownKey, setFirstKey] = useState<string | null>(null)
  const sentinel = useRef<HTMLDivElement>(null)
  const anchored = firstShownKey === null ? -1 : rows.findIndex(({ key }) => key === firstShownKey)
  const start = anchored >= 0 ? anchored : Math.max(0, rows.length - INITIAL_ROWS)
  const hasMore = start > 0
  const shown = rows.slice(start)
  const keepScrollPosition = useKeepScrollPosition(scroller, shown[0]?.key)

  const latest = useRef({ rows, start, loadOlder })
  useLayoutEffect(() => {
    latest.current = { rows, start, loadOlder }
  })

  const isEmpty = rows.length === 0
  const canLoadOlder = loadOlder !== null
  useEffect(() => {
    const element = sentinel.current
    if (!element || !scroller.current) return
    const observer = new IntersectionObserver(
      (entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return
        const { rows: all, start: from, loadOlder: load } = latest.current
        if (from === 0) return load?.()
        keepScrollPosition()
        setFirstKey(all[Math.max(0, from - ROWS_PER_STEP)]?.key ?? null)
      },
      { root: scroller.current, rootMargin: PRELOAD_MARGIN },
    )
    observer.observe(element)
    return () => observer.disconnect()
    // `start`, `isEmpty` and `canLoadOlder` create a new observer after each step: an observer reports only changes, and
    // nothing about a sentinel that stays in view.
  }, [scroller, keepScrollPosition, start, isEmpty, canLoadOlder])

  useEffect(() => {
    // oxlint-disable-next-line react/set-state-in-effect -- drops rows after the page has scrolled, not while it renders
    if (isAtEnd && rows.length - start > MAX_ROWS_AT_END) setFirstKey(null)
  }, [isAtEnd, rows.length, start])

  return { shown, waitingBefore: rows.slice(0, start).filter((row) => row.isWaiting), hasMore, sentinel }
}

/**
 * Keeps what the person reads in place while rows are added above it. Most browsers do that themselves
 * (`overflow-anchor`), without interrupting a wheel, but not at the very top.
 */
function useKeepScrollPosition(
  scroller: RefObject<HTMLElement | null>,
  firstKey: string | undefined,
): () => void {
  const fromEnd = useRef<number | null>(null)
  useLayoutEffect(() => {
    const element = scroller.current
    // oxlint-disable-next-line react/immutability -- scrolls the element, which is no state of React
    if (element && fromEnd.current !== null) element.scrollTop = element.scrollHeight - fromEnd.current
    fromEnd.current = null
  }, [scroller, firstKey])
  return useCallback(() => {
    const element = scroller.current
    if (!element || (element.scrollTop > 0 && CSS.supports('overflow-anchor', 'auto'))) return
    fromEnd.current = element.scrollHeight - element.scrollTop
  }, [scroller])
}
