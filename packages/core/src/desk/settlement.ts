import {
  AskbackError,
  copyJson,
  digestOf,
  isInDoubt,
  type Actor,
  type ApprovalAnswer,
  type ApprovalRequest,
  type Interaction,
  type Json,
  type PlanReviewAnswer,
  type Via,
} from '@askback/protocol'

interface SettlementBase {
  interaction: Interaction
  interactionId: string
  toolCallId: string
}

/** How an interaction was settled, as its waiter gets it. Only `answered` and `approved` mean that a person agreed. */
export type Settlement<Answer = Json> =
  | (SettlementBase & { settlement: 'answered'; answer: Answer; by?: Actor; via?: Via })
  | (SettlementBase & {
      settlement: 'approved'
      answer: Answer
      /** The input that may run: as it was shown, or as the person edited it. */
      input: Json
      /** Another receiver claimed it before, so the call may have run. It must not run again (L10). */
      inDoubt: boolean
      by?: Actor
      via?: Via
    })
  | (SettlementBase & { settlement: 'denied'; message?: string; answer?: Answer; by?: Actor; via?: Via })
  | (SettlementBase & { settlement: 'cancelled'; message?: string; by?: Actor; via?: Via })
  | (SettlementBase & { settlement: 'timed_out' })
  | (SettlementBase & { settlement: 'superseded'; supersededBy: string })

/** `interaction.delivered` must say whether it was claimed before the claim of this caller. */
export function settlementOf(interaction: Interaction): Settlement {
  const { interactionId, toolCallId } = interaction
  // A copy: the caller may change it, and the state must not change with it.
  const answer = copyJson(interaction.answer ?? null)
  switch (interaction.settlement) {
    case 'answered':
      return withActor({ settlement: 'answered', answer, interaction, interactionId, toolCallId })
    case 'approved': {
      const inDoubt = isInDoubt(interaction)
      const input = copyJson(approvedInput(interaction))
      return withActor({
        settlement: 'approved',
        answer,
        input,
        inDoubt,
        interaction,
        interactionId,
        toolCallId,
      })
    }
    case 'denied':
      return withMessage({ settlement: 'denied', answer, interaction, interactionId, toolCallId })
    case 'cancelled':
      return withMessage({ settlement: 'cancelled', interaction, interactionId, toolCallId })
    case 'timed_out':
      return { settlement: 'timed_out', interaction, interactionId, toolCallId }
    case 'superseded': {
      const { supersededBy = '' } = interaction
      return { settlement: 'superseded', supersededBy, interaction, interactionId, toolCallId }
    }
    case undefined:
      throw new AskbackError('internal', `The interaction ${interactionId} is not settled.`)
  }
}

function withActor<Some extends SettlementBase & { by?: Actor; via?: Via }>(settled: Some): Some {
  const { by, via } = settled.interaction
  if (by !== undefined) settled.by = by
  if (via !== undefined) settled.via = via
  return settled
}

function withMessage<Some extends SettlementBase & { message?: string; by?: Actor; via?: Via }>(
  settled: Some,
): Some {
  const { message } = settled.interaction
  if (message !== undefined) settled.message = message
  return withActor(settled)
}

/** Checks once more that the input has the digest that was approved, right before it is returned to run. */
function approvedInput(interaction: Interaction): Json {
  const { kind, toolName, request, digest, updatedDigest } = interaction
  if (kind === 'plan_review') return approvedPlan(interaction)
  if (kind !== 'approval') return request
  const { updatedInput: input = (request as ApprovalRequest).input } = interaction.answer as ApprovalAnswer
  if (digestOf(toolName, input) === (updatedDigest ?? digest)) return input
  throw new AskbackError(
    'digest_mismatch',
    'The approved input is not the one that was shown. It will not run.',
  )
}

function approvedPlan({ request, answer }: Interaction): Json {
  const { updatedPlan } = answer as PlanReviewAnswer
  return updatedPlan === undefined ? request : { ...(request as { [key: string]: Json }), plan: updatedPlan }
}
