import type { Interaction } from '@askback/protocol'
import { useEffect, useMemo, useState, type FocusEvent } from 'react'

export interface SettledCards {
  /** Still shown, though answered: see `useSettledCards`. */
  settled: readonly Interaction[]
  onPointerEnter: () => void
  onPointerLeave: () => void
  onFocus: () => void
  onBlur: (event: FocusEvent<HTMLElement>) => void
}

/**
 * The cards that were settled a moment ago. When one leaves, those below move up: under a pointer that rests on the list, the
 * controls of another request would take its place. So all of them stay until pointer and focus have left the list, which
 * gets the handlers.
 */
export function useSettledCards(leaving: readonly Interaction[]): SettledCards {
  const [hasPointer, setPointer] = useState(false)
  const [hasFocus, setFocus] = useState(false)
  const [held, setHeld] = useState<readonly Interaction[]>([])
  const isPresent = hasPointer || hasFocus

  useEffect(() => {
    setHeld((before) => (isPresent ? withNew(before, leaving) : []))
  }, [leaving, isPresent])

  const settled = useMemo(() => (isPresent ? withNew(held, leaving) : leaving), [held, leaving, isPresent])
  return {
    settled,
    onPointerEnter: () => setPointer(true),
    onPointerLeave: () => setPointer(false),
    onFocus: () => setFocus(true),
    onBlur: ({ currentTarget, relatedTarget }) => setFocus(currentTarget.contains(relatedTarget)),
  }
}

function withNew(held: readonly Interaction[], leaving: readonly Interaction[]): readonly Interaction[] {
  const known = new Set(held.map(({ interactionId }) => interactionId))
  const added = leaving.filter(({ interactionId }) => !known.has(interactionId))
  return added.length === 0 ? held : [...held, ...added]
}
