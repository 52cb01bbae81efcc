import { timeLeft } from '@askback/client'
import type { Interaction } from '@askback/protocol'
import { useEffect, useReducer } from 'react'
import { useSessionFacts } from './session-facts.js'

export interface Deadline {
  /** Milliseconds by the server's clock; `null` if it waits for ever, or does not wait any more. */
  remaining: number | null
  /** Only the deadline itself can settle it now (L4). */
  isOver: boolean
  /** Past its time, and still to be answered. */
  isOverdue: boolean
  isUrgent: boolean
}

const URGENT_MS = 2 * 60_000
const NONE: Deadline = { remaining: null, isOver: false, isOverdue: false, isUrgent: false }

/** Looks at the clock once a minute, and every second only when it matters. */
export function useDeadline(interaction: Interaction): Deadline {
  const { serverNow } = useSessionFacts()
  const [, tick] = useReducer((count: number) => count + 1, 0)
  const remaining = timeLeft(interaction, serverNow())

  useEffect(() => {
    if (remaining === null || remaining === 0) return
    const step = remaining > URGENT_MS ? 60_000 : 1000
    // Just past the border, so that what is shown has changed.
    const timer = setTimeout(tick, Math.min(remaining, (remaining % step || step) + 5))
    return () => clearTimeout(timer)
  })

  if (remaining === null) return NONE
  const { onTimeout } = interaction
  const isPast = remaining === 0
  return {
    remaining,
    isOver: isPast && onTimeout !== 'keep',
    isOverdue: isPast && onTimeout === 'keep',
    isUrgent: !isPast && remaining <= URGENT_MS,
  }
}
