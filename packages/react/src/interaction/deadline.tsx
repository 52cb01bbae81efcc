import { timeLeft } from '@askback/client'
import type { Interaction, OnTimeout } from '@askback/protocol'
import { ClockIcon } from '../icons.js'
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

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** The time that is left to answer. Its tooltip says what happens then. */
export function Countdown({ interaction }: { interaction: Interaction }) {
  const { remaining, isOver, isOverdue, isUrgent } = useDeadline(interaction)
  if (remaining === null) return null
  const label = isOver ? 'Time is up' : isOverdue ? 'Overdue' : `${timeLeftLabel(remaining)} left`
  return (
    <span
      className="ab-countdown"
      data-urgent={isUrgent || undefined}
      title={consequence(interaction.onTimeout)}
    >
      <ClockIcon aria-hidden />
      <span role="timer">{label}</span>
    </span>
  )
}

function timeLeftLabel(ms: number): string {
  if (ms <= 2 * MINUTE_MS) {
    const seconds = Math.ceil(ms / 1000)
    return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
  }
  if (ms < 2 * HOUR_MS) return `${Math.ceil(ms / MINUTE_MS)} min`
  return ms < 2 * DAY_MS ? `${Math.round(ms / HOUR_MS)} hours` : `${Math.round(ms / DAY_MS)} days`
}

function consequence(onTimeout: OnTimeout): string {
  if (onTimeout === 'keep') return 'You can still answer after that.'
  if (onTimeout === 'deny') return 'After that the agent continues without an answer.'
  return 'After that the agent continues with the default answer that it declared.'
}
