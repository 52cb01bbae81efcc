import type { ToolStatus } from '@askback/client'
import { Ban, Check, CircleDashed, CirclePause, Hourglass, LoaderCircle, Undo2, X } from 'lucide-react'
import type { ReactNode } from 'react'

const looks: Record<ToolStatus, { word: string; icon: ReactNode; tone: string }> = {
  streaming: { word: 'Preparing', icon: <LoaderCircle className="ab-spin" />, tone: 'busy' },
  waiting: { word: 'Waiting for input', icon: <CirclePause />, tone: 'pending' },
  running: { word: 'Running', icon: <LoaderCircle className="ab-spin" />, tone: 'busy' },
  approved: { word: 'Approved', icon: <Check />, tone: 'good' },
  done: { word: 'Done', icon: <Check />, tone: 'good' },
  failed: { word: 'Failed', icon: <X />, tone: 'bad' },
  denied: { word: 'Denied', icon: <Ban />, tone: 'gone' },
  adjusted: { word: 'Changes requested', icon: <Undo2 />, tone: 'gone' },
  timed_out: { word: 'Timed out', icon: <Hourglass />, tone: 'gone' },
  cancelled: { word: 'Cancelled', icon: <Ban />, tone: 'gone' },
  interrupted: { word: 'Interrupted', icon: <CircleDashed />, tone: 'gone' },
}

/** What went as it should says so with its icon alone. */
const QUIET = new Set<ToolStatus>(['done', 'approved', 'running', 'streaming'])

export function ToolStatusLabel({ status }: { status: ToolStatus }) {
  const { word, icon, tone } = looks[status]
  return (
    <span className="ab-tool-status" data-tone={tone}>
      <span aria-hidden className="ab-tool-status-icon">
        {icon}
      </span>
      <span className={QUIET.has(status) ? 'ab-only-spoken' : undefined}>{word}</span>
    </span>
  )
}
