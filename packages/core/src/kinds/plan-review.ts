import {
  AskbackError,
  planReviewAnswer,
  planReviewRequest,
  type Json,
  type PermissionMode,
  type PlanDecision,
  type PlanReviewAnswer,
  type PlanReviewRequest,
} from '@askback/protocol'
import { defineInteraction } from './kinds.js'

export const planReviewKind = defineInteraction<PlanReviewRequest, PlanReviewAnswer>({
  kind: 'plan_review',
  presentation: 'questionnaire',
  request: planReviewRequest,
  answer: planReviewAnswer,
  plain: true,
  settle(_request, { decision, feedback, updatedPlan }) {
    const answer = {
      decision,
      ...(feedback !== undefined && { feedback }),
      ...(updatedPlan !== undefined && { updatedPlan }),
    }
    if (planEffect(decision)) return { settlement: 'approved', answer }
    if (!feedback?.trim())
      throw new AskbackError('invalid_answer', 'To adjust a plan, say in `feedback` what should change.')
    if (updatedPlan !== undefined) {
      throw new AskbackError(
        'invalid_answer',
        'A plan to adjust is not approved, so `updatedPlan` must be left out.',
      )
    }
    return { settlement: 'denied', answer, message: feedback }
  },
})

/** How the agent continues after a decision on its plan. `null`: it stays in plan mode and revises the plan. */
export function planEffect(decision: PlanDecision): { freshContext: boolean; mode: PermissionMode } | null {
  return effects[decision]
}

const effects: Record<PlanDecision, { freshContext: boolean; mode: PermissionMode } | null> = {
  clean_edit: { freshContext: true, mode: 'acceptEdits' },
  edit: { freshContext: false, mode: 'acceptEdits' },
  default: { freshContext: true, mode: 'default' },
  adjust: null,
}

/** The request with the plan as the person edited it. */
export function withPlan(request: { [key: string]: Json }, plan: string): Json {
  return { ...request, plan }
}
