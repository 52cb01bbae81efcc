import { LoaderCircle } from 'lucide-react'
import type { ReactNode } from 'react'
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
  const isBusy = control.phase === 'submitting' || control.phase === 'queued'
  return (
    <button
      type="button"
      className="ab-button"
      data-tone={tone}
      disabled={disabled || !control.canAnswer}
      onKeyDown={(event) => {
        if (event.repeat && (event.key === 'Enter' || event.key === ' ')) event.preventDefault()
      }}
      onClick={onPress}
    >
      {isBusy && tone === 'primary' && <LoaderCircle className="ab-spin" aria-hidden />}
      {children}
    </button>
  )
}
