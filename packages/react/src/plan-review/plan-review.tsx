import { planReviewAnswer, type Interaction, type PlanDecision } from '@askback/protocol'
import { ListChecksIcon } from '../icons.js'
import { useState } from 'react'
import { useHasMounted } from '../card-focus.js'
import { Markdown } from '../content/markdown.js'
import { SafeText } from '../content/safe-text.js'
import { useCardGuard, useMustSee } from '../guard/card-guard.js'
import { GrowingEditor } from '../interaction/controls.js'
import { InteractionCard } from '../interaction/interaction-card.js'
import type { InteractionProps } from '../renderers.js'
import { UnknownInteraction } from '../interaction/unknown-interaction.js'
import { PlanDecisions } from './plan-decisions.js'
import { usePlanReview } from './use-plan-review.js'
import { LabelWithNodes } from '../label-with-nodes.js'
import { useLabels, type Label, type Translate } from '../labels.js'

/**
 * The card of a plan review: the plan as Markdown, which can be edited, and the decisions.
 *
 * @example
 * <PlanReview interaction={interaction} />
 */
export function PlanReview({ interaction, open = interaction.status === 'pending' }: InteractionProps) {
  const t = useLabels()
  const control = usePlanReview(interaction, open)
  const guard = useCardGuard()
  const hasMounted = useHasMounted()
  if (!control) return <UnknownInteraction interaction={interaction} open={open} />
  const { request, edited, edit, canAnswer } = control

  return (
    <InteractionCard
      control={control}
      open={open}
      guard={guard}
      icon={<ListChecksIcon />}
      title={t('A plan to review')}
      outcome={decisionLabel(control.interaction, t)}
      unsent={control.unsent}
      summary={<PlanSummary interaction={control.interaction} plan={request.plan} />}
    >
      {request.planFilePath !== undefined && <PlanFile path={request.planFilePath} />}
      {edited === null ? (
        <div className="ab-plan" role="group" aria-label={t('The plan')}>
          <Markdown text={request.plan} />
        </div>
      ) : (
        <GrowingEditor
          dir="auto"
          text={edited}
          minRows={8}
          autoFocus={hasMounted}
          disabled={!canAnswer}
          label={t('The plan, as Markdown')}
          onChange={edit}
        />
      )}
      <PlanDecisions control={control} guard={guard} />
    </InteractionCard>
  )
}

function PlanFile({ path }: { path: string }) {
  return (
    <p ref={useMustSee()} className="ab-quiet">
      <LabelWithNodes
        label="The agent says that the plan is in {path}"
        nodes={{ path: <SafeText text={path} as="code" /> }}
      />
    </p>
  )
}

const decisionLabels: Record<PlanDecision, Label> = {
  clean_edit: 'Plan approved, context cleared',
  edit: 'Plan approved',
  default: 'Plan approved, asks before edits',
  adjust: 'Changes requested',
}

function decisionLabel({ answer }: Interaction, t: Translate): string | undefined {
  const { decision, updatedPlan } = planReviewAnswer.safeParse(answer).data ?? {}
  if (decision === undefined) return undefined
  const label = t(decisionLabels[decision])
  return updatedPlan === undefined ? label : t('{decision}, as edited', { decision: label })
}

function PlanSummary({ interaction, plan }: { interaction: Interaction; plan: string }) {
  const t = useLabels()
  const [isOpen, setOpen] = useState(false)
  const { feedback, updatedPlan } = planReviewAnswer.safeParse(interaction.answer).data ?? {}
  const feedbackText = feedback ?? interaction.message
  return (
    <div className="ab-summary">
      {feedbackText !== undefined && feedbackText !== '' && (
        <p className="ab-summary-text">
          <span className="ab-quiet">{t('Feedback:')} </span>
          <bdi>
            <SafeText text={feedbackText} />
          </bdi>
        </p>
      )}
      <button
        type="button"
        className="ab-button"
        data-tone="quiet"
        data-size="small"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {t(isOpen ? 'Hide the plan' : 'Show the plan')}
      </button>
      {isOpen && (
        <div className="ab-plan">
          <Markdown text={updatedPlan ?? plan} />
        </div>
      )}
    </div>
  )
}
