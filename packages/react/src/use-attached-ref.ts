import { useCallback, useRef, type RefCallback } from 'react'

/**
 * A ref that calls `attach` with its element, and calls what that returned before the element is removed. React 19 does the same
 * for a ref that returns a function; React 18 does not.
 *
 * @param attach must be the same function on every render
 */
export function useAttachedRef<T extends Element>(
  attach: (element: T) => (() => void) | undefined,
): RefCallback<T> {
  const detach = useRef<(() => void) | undefined>(undefined)
  return useCallback(
    (element: T | null) => {
      detach.current?.()
      detach.current = element ? attach(element) : undefined
    },
    [attach],
  )
}
