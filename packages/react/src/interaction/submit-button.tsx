import { LoaderCircle } from 'lucide-react'
import { use, type ReactNode } from 'react'
import { CardGuardContext } from '../guard/card-guard.js'
import type { InteractionControl } from './use-interaction.js'

export interface SubmitButtonProps {
  control: InteractionControl
  disabled?: boolean
  tone?: 'primary' | 'plain' | 'danger'
  onPress: () => void
  children: ReactNode
}

/** Sends an answer once: not while one is on its way, and not by a key that is held down. */
export function SubmitButton({ control, disabled, tone = 'primary', onPress, children }: SubmitButtonProps) {
  const guard = use(CardGuardContext)
  const isBusy = control.phase === 'submitting' || control.phase === 'queued'
  return (
    <button
      type="button"
      className="ab-button"
      data-tone={tone}
      disabled={disabled || !control.canAnswer}
      // Not `disabled`, which would take the focus away: a key may still press it.
      aria-disabled={guard?.isMoving || undefined}
      onKeyDown={(event) => {
        if (event.repeat && (event.key === 'Enter' || event.key === ' ')) event.preventDefault()
      }}
      onClick={(event) => {
        if (!guard || guard.acceptsPress(event)) onPress()
      }}
    >
      {isBusy && tone === 'primary' && <LoaderCircle className="ab-spin" aria-hidden />}
      {children}
    </button>
  )
}
