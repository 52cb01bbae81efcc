import type { Interaction, OnTimeout } from '@askback/protocol'
import { Clock } from 'lucide-react'
import { useDeadline } from './use-deadline.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** How long it can still be answered, by the server's clock. */
export function Countdown({ interaction }: { interaction: Interaction }) {
  const { remaining, isOver, isOverdue, isUrgent } = useDeadline(interaction)
  if (remaining === null) return null
  const words = isOver ? 'Time is up' : isOverdue ? 'Overdue' : `${timeLeft(remaining)} left`
  return (
    <span
      className="ab-countdown"
      data-urgent={isUrgent || undefined}
      title={consequence(interaction.onTimeout)}
    >
      <Clock aria-hidden />
      <span role="timer">{words}</span>
    </span>
  )
}

function timeLeft(ms: number): string {
  if (ms <= 2 * MINUTE) {
    const seconds = Math.ceil(ms / 1000)
    return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
  }
  if (ms < 2 * HOUR) return `${Math.ceil(ms / MINUTE)} min`
  return ms < 2 * DAY ? `${Math.round(ms / HOUR)} hours` : `${Math.round(ms / DAY)} days`
}

function consequence(onTimeout: OnTimeout): string {
  if (onTimeout === 'keep') return 'You can still answer after that.'
  if (onTimeout === 'deny') return 'After that the agent continues without an answer.'
  return 'After that the agent continues with the default answer that it declared.'
}
