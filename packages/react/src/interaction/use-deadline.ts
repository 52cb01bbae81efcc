import { timeLeft } from '@askback/client'
import type { Interaction } from '@askback/protocol'
import { useEffect, useReducer } from 'react'
import { useSessionFacts } from '../use-session.js'

/** The time that an interaction has left, and what applies after that. */
export interface Deadline {
  /** Milliseconds left by the gateway's clock; `null` without a deadline, and after the interaction was settled. */
  remaining: number | null
  /** The time is up, and only the deadline itself can settle it now (L4). */
  isOver: boolean
  /** The time is up, and it can still be answered. */
  isOverdue: boolean
  /** Less than two minutes are left. */
  isUrgent: boolean
}

const URGENT_MS = 2 * 60_000
const NO_DEADLINE: Deadline = { remaining: null, isOver: false, isOverdue: false, isUrgent: false }

/**
 * The deadline of an interaction, by the gateway's clock. It renders again once a minute, and every second in the
 * last two minutes.
 *
 * @example
 * const { remaining, isOver } = useDeadline(interaction)
 * return remaining === null ? null : <span>{isOver ? 'Time is up' : `${Math.ceil(remaining / 1000)} s`}</span>
 */
export function useDeadline(interaction: Interaction): Deadline {
  const { serverNow } = useSessionFacts()
  const [ticks, tick] = useReducer((count: number) => count + 1, 0)
  const remaining = timeLeft(interaction, serverNow())

  useEffect(() => {
    if (remaining === null || remaining === 0) return
    const stepMs = remaining > URGENT_MS ? 60_000 : 1000
    // Slightly after the full minute or second, so that the label has changed.
    const timer = setTimeout(tick, Math.min(remaining, (remaining % stepMs || stepMs) + 5))
    return () => clearTimeout(timer)
  }, [remaining, ticks])

  if (remaining === null) return NO_DEADLINE
  const { onTimeout } = interaction
  const isPast = remaining === 0
  return {
    remaining,
    isOver: isPast && onTimeout !== 'keep',
    isOverdue: isPast && onTimeout === 'keep',
    isUrgent: !isPast && remaining <= URGENT_MS,
  }
}
