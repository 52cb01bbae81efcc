import type { CardGuard } from '../guard/card-guard.js'
import { GuardHint } from '../guard/must-see.js'
import { useLabels } from '../labels.js'
import { SubmitButton } from './controls.js'
import type { InteractionCardControl } from './use-interaction.js'

export interface GuardedSubmitProps {
  control: InteractionCardControl
  guard: CardGuard
  /** Whether there is nothing to submit yet. */
  disabled: boolean
  onPress: () => void
}

/** The button that submits the answer of a card, once everything on the card has been seen, and what is missing for that. */
export function GuardedSubmit({ control, guard, disabled, onPress }: GuardedSubmitProps) {
  const t = useLabels()
  return (
    <>
      <div className="ab-card-footer">
        <SubmitButton
          control={control}
          disabled={disabled || !guard.isArmed || !guard.isSeen}
          onPress={onPress}
        >
          {t('Submit')}
        </SubmitButton>
      </div>
      {control.canAnswer && <GuardHint guard={guard} enables={t('Submit')} />}
    </>
  )
}
