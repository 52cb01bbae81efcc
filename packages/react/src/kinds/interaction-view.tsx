import type { BuiltInKind } from '@askback/protocol'
import { memo } from 'react'
import { ToolApproval } from '../approval/tool-approval.js'
import { ErrorBoundary } from '../content/error-boundary.js'
import { CustomKindPrompt } from '../form/custom-kind-prompt.js'
import { FormPrompt } from '../form/form-prompt.js'
import { useRenderer, type InteractionProps, type InteractionRenderer } from '../renderers.js'
import { UnknownInteraction } from '../interaction/unknown-interaction.js'
import { PlanReview } from '../plan-review/plan-review.js'
import { QuestionPrompt } from '../question/question-prompt.js'

const builtIn = new Map<string, InteractionRenderer>(
  Object.entries({
    question: QuestionPrompt,
    approval: ToolApproval,
    plan_review: PlanReview,
    form: FormPrompt,
  } satisfies Record<BuiltInKind, InteractionRenderer>),
)

/**
 * Draws an interaction with the component that `AskbackProvider` has for its kind, else with the built-in one, else with a form that the
 * gateway makes of the kind's schema. If that component throws, the interaction is shown with that form or as JSON.
 *
 * @example
 * <InteractionView interaction={interaction} />
 */
export const InteractionView = memo(function InteractionView({ interaction, open }: InteractionProps) {
  const given = useRenderer(interaction.kind)
  const Renderer = given ?? builtIn.get(interaction.kind) ?? CustomKindPrompt
  const { interactionId, kind } = interaction
  // Of a kind with a form of the gateway, that form; of a built-in kind nothing that could be answered.
  const Fallback = given && !builtIn.has(kind) ? CustomKindPrompt : UnknownInteraction
  return (
    <ErrorBoundary key={interactionId} fallback={<Fallback interaction={interaction} open={open} />}>
      <Renderer interaction={interaction} open={open} />
    </ErrorBoundary>
  )
})
