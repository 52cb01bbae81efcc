import { memo } from 'react'
import { ToolApproval } from '../approval/tool-approval.js'
import { ErrorBoundary } from '../content/error-boundary.js'
import { FormPrompt } from '../form/form-prompt.js'
import { useRenderer, type InteractionProps, type InteractionRenderer } from '../interaction/renderers.js'
import { UnknownInteraction } from '../interaction/unknown-interaction.js'
import { PlanReview } from '../plan-review/plan-review.js'
import { QuestionPrompt } from '../question/question-prompt.js'

const ours = new Map<string, InteractionRenderer>([
  ['question', QuestionPrompt],
  ['approval', ToolApproval],
  ['plan_review', PlanReview],
  ['form', FormPrompt],
])

/** An interaction of any kind, drawn by whoever knows that kind. */
export const InteractionView = memo(function InteractionView({ interaction, open }: InteractionProps) {
  const own = useRenderer(interaction.kind)
  const Renderer = own ?? ours.get(interaction.kind) ?? UnknownInteraction
  const { interactionId } = interaction
  return (
    <ErrorBoundary
      key={interactionId}
      fallback={<UnknownInteraction interaction={interaction} open={open} />}
    >
      <Renderer interaction={interaction} open={open} />
    </ErrorBoundary>
  )
})
