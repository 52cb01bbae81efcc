import {
  planReviewRequest,
  type Interaction,
  type PlanDecision,
  type PlanReviewRequest,
} from '@askback/protocol'
import { useAnswer } from '../interaction/use-answer.js'
import type { InteractionControl } from '../interaction/use-interaction.js'
import { joinTexts } from '../use-draft.js'

interface PlanDraft {
  edited: string | null
  feedback: string
  isAdjusting: boolean
}

/** What `usePlanReview` returns, in addition to what `useInteraction` does. */
export interface PlanReviewControl extends InteractionControl {
  request: PlanReviewRequest
  /** The plan as it is being edited; `null` while it is not edited. */
  edited: string | null
  edit: (plan: string | null) => void
  feedback: string
  setFeedback: (feedback: string) => void
  isAdjusting: boolean
  setAdjusting: (isAdjusting: boolean) => void
  /** Texts that were typed here and not sent. */
  unsent: string
  /** Sends the decision. `adjust` does nothing without feedback. */
  decide: (decision: PlanDecision) => void
}

const EMPTY: PlanDraft = { edited: null, feedback: '', isAdjusting: false }

/**
 * The state and the actions of a plan review, without any markup. Returns `null` if the request is not a valid plan.
 * Drafts survive a reload.
 *
 * @example
 * const review = usePlanReview(interaction)
 * return <button onClick={() => review?.decide('edit')}>Proceed</button>
 */
export function usePlanReview(interaction: Interaction, open?: boolean): PlanReviewControl | null {
  const {
    control,
    request,
    draft: stored,
    setDraft,
  } = useAnswer(interaction, open, { request: planReviewRequest, isDraft })
  if (!request) return null
  const draft = stored ?? EMPTY
  const { edited, feedback, isAdjusting } = draft

  return {
    ...control,
    request,
    edited,
    edit: (plan) => setDraft({ ...draft, edited: plan }),
    feedback,
    setFeedback: (text) => setDraft({ ...draft, feedback: text }),
    isAdjusting,
    setAdjusting: (value) => setDraft({ ...draft, isAdjusting: value }),
    unsent: joinTexts([feedback, edited === request.plan ? null : edited]),
    decide(decision) {
      if (!control.canAnswer) return
      const isAdjust = decision === 'adjust'
      if (isAdjust && feedback.trim() === '') return
      // A plan that is sent back for changes is not approved as edited.
      const isEdited = !isAdjust && edited !== null && edited !== request.plan
      void control.respond({
        decision,
        ...(isAdjust && { feedback: feedback.trim() }),
        ...(isEdited && { updatedPlan: edited }),
      })
    },
  }
}

function isDraft(value: unknown): value is PlanDraft {
  if (typeof value !== 'object' || value === null) return false
  const { edited, feedback, isAdjusting } = value as Partial<PlanDraft>
  const isText = edited === null || typeof edited === 'string'
  return isText && typeof feedback === 'string' && typeof isAdjusting === 'boolean'
}
