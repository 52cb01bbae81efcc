// What the browser knows about the window: where elements and the pointer are, when to look again, and when the next
// frame is drawn. Guards of cards build on it.

/** Layout questions to the browser, in an object so that tests without a layout engine can replace the answers. */
export const viewport = {
  rectOf: (element: Element): DOMRect => element.getBoundingClientRect(),

  /**
   * Whether an element is what is painted at a point of the viewport. The browser's hit test accounts for everything
   * that can cover it: scroll containers that clip, dialogs, sticky headers, menus.
   */
  isPaintedAt: (element: Element, x: number, y: number): boolean => {
    const root = element.getRootNode()
    if (!(root instanceof Document || root instanceof ShadowRoot)) return false
    return element.contains(root.elementFromPoint(x, y))
  },
}

export interface Point {
  x: number
  y: number
}

/**
 * The position of the mouse or pen in the viewport. `null` before it first moved, after it left the window, and for
 * touch, which has no position between two presses.
 */
export const pointer: { at: Point | null } = { at: null }

const pointerListeners = new Set<(to: Point) => void>()

/** Calls `listener` with the new position of the pointer while `pointer.at` is still the previous one. */
export function onPointerMove(listener: (to: Point) => void): () => void {
  trackPointer()
  pointerListeners.add(listener)
  return () => pointerListeners.delete(listener)
}

let isTracking = false

/** Starts tracking for the life of the page: a card must know where the pointer was before the card appeared. */
export function trackPointer(): void {
  if (isTracking) return
  isTracking = true
  window.addEventListener('pointermove', updatePointer, { capture: true, passive: true })
  document.documentElement.addEventListener('pointerleave', () => (pointer.at = null))
}

function updatePointer({ clientX: x, clientY: y, pointerType }: PointerEvent): void {
  if (pointerType !== 'touch') for (const listener of pointerListeners) listener({ x, y })
  pointer.at = pointerType === 'touch' ? null : { x, y }
}

/** Layout changes that cause no event, such as text growing above a card, are noticed within this time. */
const CHECK_INTERVAL_MS = 100

const checks = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined
let isCheckRequested = false

/**
 * Calls `check` while the page is visible: in the frame after each scroll, so that content that passes quickly counts
 * too, and at a regular interval for all other layout changes. All cards share one timer.
 */
export function watchScreen(check: () => void): () => void {
  if (checks.size === 0) startWatching()
  checks.add(check)
  return () => {
    checks.delete(check)
    if (checks.size === 0) stopWatching()
  }
}

function startWatching(): void {
  timer = setInterval(runChecks, CHECK_INTERVAL_MS)
  // In the capture phase, as scroll events of containers inside the page do not bubble.
  window.addEventListener('scroll', requestCheck, { capture: true, passive: true })
  window.addEventListener('resize', requestCheck)
  document.addEventListener('visibilitychange', requestCheck)
}

function stopWatching(): void {
  clearInterval(timer)
  window.removeEventListener('scroll', requestCheck, { capture: true })
  window.removeEventListener('resize', requestCheck)
  document.removeEventListener('visibilitychange', requestCheck)
}

function requestCheck(): void {
  if (isCheckRequested) return
  isCheckRequested = true
  requestAnimationFrame(() => {
    isCheckRequested = false
    runChecks()
  })
}

function runChecks(): void {
  if (document.visibilityState !== 'visible') return
  for (const check of checks) check()
}

/** Browsers draw no frames for a hidden page, so a timer replaces them. */
const HIDDEN_PAGE_DELAY_MS = 250

/** Calls `act` before the page is drawn the next time. */
export function onNextFrame(act: () => void): void {
  if (document.hidden) setTimeout(act, HIDDEN_PAGE_DELAY_MS)
  else requestAnimationFrame(act)
}
