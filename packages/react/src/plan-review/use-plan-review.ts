import {
  planReviewRequest,
  type Interaction,
  type PlanDecision,
  type PlanReviewRequest,
} from '@askback/protocol'
import { useMemo } from 'react'
import { joinTexts } from '../interaction/unsent.js'
import { useInteraction, type InteractionControl } from '../interaction/use-interaction.js'
import { useDraft } from '../use-draft.js'

interface PlanDraft {
  edited: string | null
  feedback: string
  isAdjusting: boolean
}

export interface PlanReviewControl extends InteractionControl {
  request: PlanReviewRequest
  /** The plan as it is being edited; `null` while it is left as it came. */
  edited: string | null
  edit: (plan: string | null) => void
  feedback: string
  setFeedback: (feedback: string) => void
  isAdjusting: boolean
  setAdjusting: (isAdjusting: boolean) => void
  /** Texts that were typed here and not sent. */
  unsent: string
  /** `adjust` needs feedback, and does nothing without. */
  decide: (decision: PlanDecision) => void
}

const EMPTY: PlanDraft = { edited: null, feedback: '', isAdjusting: false }

/** A plan review without any looks. `null` where the request is none. */
export function usePlanReview(interaction: Interaction, open?: boolean): PlanReviewControl | null {
  const control = useInteraction(interaction, open)
  const request = useMemo(() => {
    const parsed = planReviewRequest.safeParse(interaction.request)
    return parsed.success ? parsed.data : null
  }, [interaction.request])
  const [kept, setDraft] = useDraft(control.interaction, isDraft)
  if (!request) return null
  const draft = kept ?? EMPTY
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
      // A plan that goes back is not approved as edited, either.
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
