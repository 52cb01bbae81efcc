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

interface Settled {
  interaction: Interaction
  interactionId: string
  toolCallId: string
}

/** How an interaction ended, as its waiter gets it. Only `answered` and `approved` carry a person's yes. */
export type Settlement<Answer = Json> =
  | (Settled & { settlement: 'answered'; answer: Answer; by?: Actor; via?: Via })
  | (Settled & {
      settlement: 'approved'
      answer: Answer
      /** What may run: the input that was shown, or what the person made of it. */
      input: Json
      /** It was handed over before, and the call may have run: it must not run again (L10). */
      inDoubt: boolean
      by?: Actor
      via?: Via
    })
  | (Settled & { settlement: 'denied'; message?: string; answer?: Answer; by?: Actor; via?: Via })
  | (Settled & { settlement: 'cancelled'; message?: string; by?: Actor; via?: Via })
  | (Settled & { settlement: 'timed_out' })
  | (Settled & { settlement: 'superseded'; supersededBy: string })

/** `interaction.delivered` tells whether somebody had claimed it before this hand-over. */
export function settlementOf(interaction: Interaction): Settlement {
  const { interactionId, toolCallId } = interaction
  // Its own: whoever runs what was approved may change it, and the log stays what it is.
  const answer = copyJson(interaction.answer ?? null)
  switch (interaction.settlement) {
    case 'answered':
      return withWho({ settlement: 'answered', answer, interaction, interactionId, toolCallId })
    case 'approved': {
      const inDoubt = isInDoubt(interaction)
      const input = copyJson(approvedInput(interaction))
      return withWho({
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
      return withWhy({ settlement: 'denied', answer, interaction, interactionId, toolCallId })
    case 'cancelled':
      return withWhy({ settlement: 'cancelled', interaction, interactionId, toolCallId })
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

function withWho<Some extends Settled & { by?: Actor; via?: Via }>(settled: Some): Some {
  const { by, via } = settled.interaction
  if (by !== undefined) settled.by = by
  if (via !== undefined) settled.via = via
  return settled
}

function withWhy<Some extends Settled & { message?: string; by?: Actor; via?: Via }>(settled: Some): Some {
  const { message } = settled.interaction
  if (message !== undefined) settled.message = message
  return withWho(settled)
}

/** What was approved is what runs: the bytes are compared with the digest once more before they are handed over. */
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
