/**
 * What became of the requests of an interrupted turn.
 *
 * A turn is interrupted when its agent is lost, or when the gateway restarts. Its pending requests stay pending. The next
 * process of the agent waits until they are settled, and then sends its model one message with all outcomes, because the
 * tool calls themselves have ended with the lost process. `BaseAgentProcess` uses this for all adapters.
 */
import type { AgentContext, Clock, Settlement } from '@askback/core'
import { planEffect } from '@askback/core/internal'
import {
  hasAnswer,
  isOfKind,
  type Interaction,
  type InteractionOf,
  type SessionStateJson,
} from '@askback/protocol'
import { approvedInput } from './approval.js'
import { INTERRUPT_GRACE_MS, pause } from './call-request.js'
import {
  answerMessage,
  IN_DOUBT_MESSAGE,
  PLAN_HANDED_OVER,
  planChangeMessage,
  isRefusal,
  refusalMessage,
} from './model-messages.js'

export type InterruptedTurn = NonNullable<AgentContext['resume']>

/** What became of one request of an interrupted turn. */
export interface RequestOutcome {
  interaction: Interaction
  /** For the model, and for the log as the result of the tool call. */
  message: string
  isError: boolean
  /** The same interaction if it is an approval that no process had claimed: it allows one call. */
  grant?: InteractionOf<'approval'>
  /** A plan that was approved for a fresh context. */
  freshPlan?: string
}

/**
 * Waits until all requests of the turn are settled: those of its agent, and those of scripts in the agent's shells. Throws if
 * the signal aborts.
 */
export async function awaitOutcomes(
  session: AgentContext['session'],
  { turnId, state }: InterruptedTurn,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<RequestOutcome[]> {
  const outcomes = await Promise.all([
    ...unansweredRequests(state, turnId).map((item) => outcomeOf(session, item, signal)),
    ...scriptRequests(state, turnId).map(async (item) =>
      scriptOutcome((await session.wait(item.interactionId, { signal, claim: false })).interaction),
    ),
  ])
  if (outcomes.some(({ interaction }) => interaction.settlement === 'cancelled'))
    await pause(clock, INTERRUPT_GRACE_MS, signal)
  signal.throwIfAborted()
  return outcomes
}

/** The requests of the turn's agent whose tool calls have no result. */
export function unansweredRequests(state: SessionStateJson, turnId: string): Interaction[] {
  const items = state.turns.find((turn) => turn.turnId === turnId)?.items ?? []
  const ids = new Set(items.flatMap((item) => (item.type === 'interaction' ? [item.interactionId] : [])))
  const ended = new Set(state.toolCalls.flatMap((call) => (call.result ? [call.toolCallId] : [])))
  return [...state.interactions, ...state.pending].filter(
    ({ interactionId, toolCallId, settlement, openedBy }) =>
      // Requests that others have opened are claimed by them.
      openedBy === undefined &&
      ids.has(interactionId) &&
      settlement !== 'superseded' &&
      !ended.has(toolCallId),
  )
}

/** The message with which the agent continues the turn. */
export function resumeMessage(outcomes: RequestOutcome[]): string {
  const parts = outcomes.map(({ message }) => message)
  return `You were stopped while you waited for the user, and the calls you were waiting for were cut. This has come of them:\n\n${parts.join('\n\n')}`
}

/** Whether it is a plan that was approved for a fresh context. */
export function isFreshPlan(item: Interaction): item is InteractionOf<'plan_review'> {
  if (item.settlement !== 'approved' || !hasAnswer(item, 'plan_review')) return false
  return planEffect(item.answer.decision)?.freshContext ?? false
}

/** Claims the settlement, except that of an approval: only the call that uses the approval may claim it. */
async function outcomeOf(
  session: AgentContext['session'],
  { interactionId, kind }: Interaction,
  signal: AbortSignal,
): Promise<RequestOutcome> {
  if (kind === 'approval') {
    const { interaction } = await session.wait(interactionId, { signal, claim: false })
    const isGrant = interaction.settlement === 'approved' && !interaction.delivered
    if (isGrant && isOfKind(interaction, 'approval'))
      return { interaction, message: grantMessage(interaction), isError: true, grant: interaction }
  }
  const settled = await session.wait(interactionId, { signal })
  const { interaction } = settled
  if (isFreshPlan(interaction))
    return { interaction, message: PLAN_HANDED_OVER, isError: false, freshPlan: approvedPlan(interaction) }
  return { interaction, message: outcomeMessage(settled), isError: settled.settlement !== 'answered' }
}

/** A script ended together with the shell that ran it, so only the model can still use the answer. */
function scriptRequests(state: SessionStateJson, turnId: string): Interaction[] {
  const calls = new Map(state.toolCalls.map((call) => [call.toolCallId, call]))
  return [...state.interactions, ...state.pending].filter(({ toolCallId, openedBy, settlement }) => {
    const call = calls.get(toolCallId)
    return (
      openedBy !== undefined &&
      call !== undefined &&
      call.result === undefined &&
      call.turnId === turnId &&
      settlement !== 'superseded'
    )
  })
}

function scriptOutcome(interaction: Interaction): RequestOutcome {
  const { settlement, answer, message, request } = interaction
  const said = answer === undefined ? (message ?? '') : JSON.stringify(answer)
  return {
    interaction,
    message: `A command of yours was cut while it asked the user ${JSON.stringify(request)}. It was settled as ${settlement}: ${said}`,
    isError: true,
  }
}

function outcomeMessage(settled: Settlement): string {
  const { interaction } = settled
  const { kind, toolName } = interaction
  if (isOfKind(interaction, 'plan_review')) return planOutcomeMessage(settled, interaction)
  if (settled.settlement === 'approved') {
    const input = isOfKind(interaction, 'approval') ? approvedInput(interaction) : interaction.request
    return `${toolName} ${JSON.stringify(input)}: ${IN_DOUBT_MESSAGE}`
  }
  if (settled.settlement !== 'answered') {
    const subject = kind === 'approval' ? 'this call' : `the ${kind.replaceAll('_', ' ')}`
    return `${toolName}: ${refusalMessage(settled, subject)}`
  }
  if (hasAnswer(interaction, 'question'))
    return `The user has answered your question:\n${answerMessage(interaction.request, interaction.answer)}`
  if (hasAnswer(interaction, 'form'))
    return `The user has filled in the form that ${toolName} asked for: ${JSON.stringify(interaction.answer.values)}`
  return `The user has answered ${toolName}: ${JSON.stringify(settled.answer)}`
}

function planOutcomeMessage(settled: Settlement, plan: InteractionOf<'plan_review'>): string {
  if (settled.settlement === 'denied') return planChangeMessage(settled.message)
  if (isRefusal(settled.settlement)) return refusalMessage({ settlement: settled.settlement }, 'the plan')
  return `The user has approved the plan. You are no longer in plan mode; carry it out:\n\n${approvedPlan(plan)}`
}

function grantMessage(interaction: InteractionOf<'approval'>): string {
  const input = JSON.stringify(approvedInput(interaction))
  return `The user has approved ${interaction.toolName}, which has not run. Call ${interaction.toolName} again with exactly this input: ${input}`
}

function approvedPlan({ request, answer }: InteractionOf<'plan_review'>): string {
  return answer?.updatedPlan ?? request.plan
}
