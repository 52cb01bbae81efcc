import type { Interaction, OnTimeout } from '@askback/protocol'
import { ClockIcon } from '../icons.js'
import { useDeadline } from './use-deadline.js'
import { useLabels, type Label, type Translate } from '../labels.js'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** The time that is left to answer. Its tooltip says what happens then. */
export function Countdown({ interaction }: { interaction: Interaction }) {
  const t = useLabels()
  const { remaining, isOver, isOverdue, isUrgent } = useDeadline(interaction)
  if (remaining === null) return null
  const label = isOver
    ? t('Time is up')
    : isOverdue
      ? t('Overdue')
      : t('{time} left', { time: timeLeftLabel(remaining, t) })
  return (
    <span
      className="ab-countdown"
      data-urgent={isUrgent || undefined}
      title={t(consequence(interaction.onTimeout))}
    >
      <ClockIcon aria-hidden />
      <span role="timer">{label}</span>
    </span>
  )
}

function timeLeftLabel(ms: number, t: Translate): string {
  if (ms <= 2 * MINUTE_MS) {
    const seconds = Math.ceil(ms / 1000)
    return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
  }
  if (ms < 2 * HOUR_MS) return t('{count} min', { count: Math.ceil(ms / MINUTE_MS) })
  return ms < 2 * DAY_MS
    ? t('{count} hours', { count: Math.round(ms / HOUR_MS) })
    : t('{count} days', { count: Math.round(ms / DAY_MS) })
}

function consequence(onTimeout: OnTimeout): Label {
  if (onTimeout === 'keep') return 'You can still answer after that.'
  if (onTimeout === 'deny') return 'After that the agent continues without an answer.'
  return 'After that the agent continues with the default answer that it declared.'
}
