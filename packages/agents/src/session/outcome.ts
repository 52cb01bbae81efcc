import { planEffect, type AgentContext, type Settlement } from '@askback/core'
import type {
  FormAnswer,
  Interaction,
  PlanReviewAnswer,
  PlanReviewRequest,
  QuestionAnswer,
  QuestionRequest,
  SessionStateJson,
} from '@askback/protocol'
import { approvedInput } from './grants.js'
import { answerInWords } from './answer-words.js'
import { PLAN_APPROVED } from './plan.js'
import { IN_DOUBT, planChange, refusalOf, type Refused } from './refusal.js'

/** What came of a request whose call a restart cut. */
export interface Outcome {
  interaction: Interaction
  /** What the model is told of it. */
  told: string
  isError: boolean
  /** An approval that has not been handed over: good for one call. */
  granted?: true
  /** A plan to carry out in a fresh context. */
  plan?: string
}

/** The requests of a turn whose calls have no result: their agent is gone, or was when they were settled. */
export function openRequests(state: SessionStateJson, turnId: string): Interaction[] {
  const items = state.turns.find((turn) => turn.turnId === turnId)?.items ?? []
  const ids = new Set(items.flatMap((item) => (item.type === 'interaction' ? [item.interactionId] : [])))
  const ended = new Set(state.toolCalls.flatMap((call) => (call.result ? [call.toolCallId] : [])))
  return [...state.interactions, ...state.pending].filter(
    ({ interactionId, toolCallId, settlement, openedBy }) =>
      // What others have asked is for others to hear.
      openedBy === undefined &&
      ids.has(interactionId) &&
      settlement !== 'superseded' &&
      !ended.has(toolCallId),
  )
}

/** Waits until it is settled. An approval is claimed only by the call that uses it. */
export async function outcomeOf(
  session: AgentContext['session'],
  { interactionId, kind }: Interaction,
  signal: AbortSignal,
): Promise<Outcome> {
  if (kind === 'approval') {
    const interaction = await session.watch(interactionId, signal)
    if (interaction.settlement === 'approved' && !interaction.delivered)
      return { interaction, told: tellGrant(interaction), isError: true, granted: true }
  }
  const settled = await session.wait(interactionId, signal)
  const { interaction } = settled
  if (isFreshPlan(interaction))
    return { interaction, told: PLAN_APPROVED, isError: false, plan: planIn(interaction) }
  return { interaction, told: tell(settled), isError: !isYes(settled) }
}

/** The message with which a cut conversation goes on. */
export function resumeMessage(outcomes: Outcome[]): string {
  const parts = outcomes.map(({ told }) => told)
  return `You were stopped while you waited for the user, and the calls you were waiting for were cut. This has come of them:\n\n${parts.join('\n\n')}`
}

function tell(settled: Settlement): string {
  const { interaction } = settled
  const { kind, toolName, request } = interaction
  if (kind === 'plan_review') return tellPlan(settled)
  if (settled.settlement === 'approved')
    return `${toolName} ${JSON.stringify(approvedInput(interaction))}: ${IN_DOUBT}`
  if (settled.settlement !== 'answered') return `${toolName}: ${refusalOf(settled, nameOf(kind))}`
  switch (kind) {
    case 'question':
      return `The user has answered your question:\n${answerInWords(request as QuestionRequest, settled.answer as unknown as QuestionAnswer)}`
    case 'form': {
      const { values } = settled.answer as unknown as FormAnswer
      return `The user has filled in the form that ${toolName} asked for: ${JSON.stringify(values)}`
    }
    default:
      return `The user has answered ${toolName}: ${JSON.stringify(settled.answer)}`
  }
}

function tellPlan(settled: Settlement): string {
  if (settled.settlement === 'denied') return planChange(settled.message)
  if (settled.settlement !== 'approved') return refusalOf(settled as Refused, 'the plan')
  return `The user has approved the plan. You are no longer in plan mode; carry it out:\n\n${planIn(settled.interaction)}`
}

function tellGrant(interaction: Interaction): string {
  const input = JSON.stringify(approvedInput(interaction))
  return `The user has approved ${interaction.toolName}, which has not run. Call ${interaction.toolName} again with exactly this input: ${input}`
}

/** Whether it is a plan that was approved for a fresh context. */
export function isFreshPlan({ kind, settlement, answer }: Interaction): boolean {
  if (kind !== 'plan_review' || settlement !== 'approved') return false
  return planEffect((answer as PlanReviewAnswer).decision)?.freshContext ?? false
}

function planIn({ request, answer }: Interaction): string {
  return (answer as PlanReviewAnswer).updatedPlan ?? (request as PlanReviewRequest).plan
}

function isYes({ settlement }: Settlement): boolean {
  return settlement === 'answered'
}

function nameOf(kind: string): string {
  return kind === 'approval' ? 'this call' : `the ${kind.replaceAll('_', ' ')}`
}
