import { CloudOff, TriangleAlert } from 'lucide-react'
import { ShownText } from '../content/shown-text.js'
import type { InteractionControl } from './use-interaction.js'

export interface FailureProps {
  control: InteractionControl
  /** Sends what stands on the card now, where that may have changed; by default the same answer once more. */
  onRetry?: (() => void) | undefined
}

/** What kept an answer from being sent. Everything that was chosen and typed is still there. */
export function Failure({ control, onRetry = control.retry }: FailureProps) {
  const { phase, error, canAnswer } = control
  if (phase === 'queued') {
    return (
      <p className="ab-notice" role="status">
        <CloudOff aria-hidden />
        The gateway cannot be reached. Askback keeps your answer and sends it when it is back.
      </p>
    )
  }
  if (phase !== 'failed') return null
  return (
    <p className="ab-notice" data-tone="bad" role="alert">
      <TriangleAlert aria-hidden />
      <span>
        Your answer was not taken. <ShownText text={error?.message ?? ''} />
      </span>
      {canAnswer && (
        <button type="button" className="ab-button" data-size="small" onClick={onRetry}>
          Try again
        </button>
      )}
    </p>
  )
}
