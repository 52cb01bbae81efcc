export interface Point {
  x: number
  y: number
}

/** Where the mouse or pen is in the viewport; `null` before it moved, after it left the window, and for fingers. */
export const pointer: { at: Point | null } = { at: null }

const listeners = new Set<(to: Point) => void>()

/** Calls `listener` with the place to which the pointer moves, while `pointer.at` is still where it was. */
export function watchPointer(listener: (to: Point) => void): () => void {
  followPointer()
  listeners.add(listener)
  return () => listeners.delete(listener)
}

let isFollowing = false

/** For the life of the page, as a card must know where the pointer was before the card came. */
export function followPointer(): void {
  if (isFollowing) return
  isFollowing = true
  window.addEventListener('pointermove', follow, { capture: true, passive: true })
  document.documentElement.addEventListener('pointerleave', () => (pointer.at = null))
}

function follow({ clientX: x, clientY: y, pointerType }: PointerEvent): void {
  if (pointerType !== 'touch') for (const listener of listeners) listener({ x, y })
  pointer.at = pointerType === 'touch' ? null : { x, y }
}
