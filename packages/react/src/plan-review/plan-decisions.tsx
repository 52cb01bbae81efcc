import { focusEnclosingCard, useHasMounted } from '../card-focus.js'
import type { CardGuard } from '../guard/card-guard.js'
import { GuardHint } from '../guard/must-see.js'
import { SubmitButton } from '../interaction/controls.js'
import type { PlanReviewControl } from './use-plan-review.js'
import { useLabels } from '../labels.js'

interface PlanDecisionsProps {
  control: PlanReviewControl
  guard: CardGuard
}

/** The controls of a plan: three ways to approve it, and feedback that sends it back to the agent. */
export function PlanDecisions({ control, guard }: PlanDecisionsProps) {
  const t = useLabels()
  const { isArmed, isSeen } = guard
  const { request, edited, edit, canAnswer, isAdjusting, setAdjusting, decide } = control
  const hasMounted = useHasMounted()
  if (isAdjusting) return <Adjust control={control} isArmed={isArmed} shouldFocus={hasMounted} />
  const isClosed = !isArmed || !isSeen
  return (
    <>
      <div className="ab-card-footer">
        <SubmitButton control={control} disabled={isClosed} onPress={() => decide('edit')}>
          {t('Proceed')}
        </SubmitButton>
        <SubmitButton control={control} tone="plain" disabled={isClosed} onPress={() => decide('clean_edit')}>
          {t('Proceed with a fresh context')}
        </SubmitButton>
        <SubmitButton control={control} tone="plain" disabled={isClosed} onPress={() => decide('default')}>
          {t('Approve, but ask before edits')}
        </SubmitButton>
        <button type="button" className="ab-button" disabled={!canAnswer} onClick={() => setAdjusting(true)}>
          {t('Adjust…')}
        </button>
      </div>
      <div className="ab-card-footer">
        <GuardHint guard={guard} enables={t('Proceed and Approve')}>
          {t(
            '“Proceed” and “fresh context” let the agent edit files without asking; “ask before edits” also clears its context.',
          )}
        </GuardHint>
        <button
          type="button"
          className="ab-button"
          data-tone="quiet"
          data-size="small"
          disabled={!canAnswer}
          onClick={() => edit(edited === null ? request.plan : null)}
        >
          {t(edited === null ? 'Edit the plan' : 'Discard the edit')}
        </button>
      </div>
    </>
  )
}

interface AdjustProps {
  control: PlanReviewControl
  isArmed: boolean
  shouldFocus: boolean
}

function Adjust({ control, isArmed, shouldFocus }: AdjustProps) {
  const t = useLabels()
  const { edited, feedback, setFeedback, canAnswer, setAdjusting, decide } = control
  const goBack = (from: Element) => {
    focusEnclosingCard(from)
    setAdjusting(false)
  }
  return (
    <>
      <textarea
        className="ab-input"
        dir="auto"
        rows={3}
        autoFocus={shouldFocus}
        value={feedback}
        disabled={!canAnswer}
        placeholder={t('What should be different?')}
        aria-label={t('Feedback on the plan')}
        onChange={(event) => setFeedback(event.target.value)}
        onKeyDown={(event) => {
          if (event.nativeEvent.isComposing) return
          if (event.key === 'Escape') goBack(event.currentTarget)
          else if (event.key !== 'Enter' || event.repeat || !(event.ctrlKey || event.metaKey)) return
          else if (isArmed) decide('adjust')
          event.preventDefault()
          event.stopPropagation()
        }}
      />
      <div className="ab-card-footer">
        <SubmitButton
          control={control}
          disabled={!isArmed || feedback.trim() === ''}
          onPress={() => decide('adjust')}
        >
          {t('Send feedback')}
        </SubmitButton>
        <button
          type="button"
          className="ab-button"
          data-tone="quiet"
          onClick={(event) => goBack(event.currentTarget)}
        >
          {t('Back')}
        </button>
        {edited !== null && (
          <span className="ab-hint">{t('Only your feedback is sent, not your edit.')}</span>
        )}
      </div>
    </>
  )
}
