import {
  approvedInput,
  AskbackError,
  copyJson,
  isInDoubt,
  isOfKind,
  type Actor,
  type ApprovalAnswer,
  type FormAnswer,
  type Interaction,
  type InteractionOf,
  type Json,
  type PlanReviewAnswer,
  type QuestionAnswer,
  type Via,
} from '@askback/protocol'
import { withPlan } from '../kinds/plan-review.js'

interface SettlementBase {
  interaction: Interaction
  interactionId: string
  toolCallId: string
}

/** A person answered a question, a form, or a kind of the embedder's own. */
export interface Answered<Answer = Json> extends SettlementBase {
  settlement: 'answered'
  answer: Answer
  by?: Actor
  via?: Via
}

/** A person, or a rule that a person made, allowed it. */
export interface Approved<Answer = Json> extends SettlementBase {
  settlement: 'approved'
  answer: Answer
  /** The input that may run: as it was shown, or as the person edited it. */
  input: Json
  /** Another receiver claimed it before, so the call may have run. It must not run again (L10). */
  inDoubt: boolean
  by?: Actor
  via?: Via
}

/** A person said no. */
export interface Denied<Answer = Json> extends SettlementBase {
  settlement: 'denied'
  message?: string
  answer?: Answer
  by?: Actor
  via?: Via
}

/** It was cancelled, so nobody decided. */
export interface Cancelled extends SettlementBase {
  settlement: 'cancelled'
  message?: string
  by?: Actor
  via?: Via
}

/** Nobody answered in time. */
export interface TimedOut extends SettlementBase {
  settlement: 'timed_out'
}

/** Another interaction replaced it. */
export interface Superseded extends SettlementBase {
  settlement: 'superseded'
  supersededBy: string
}

/** It ended without a decision of a person. Nothing may run. */
export type Undecided = Cancelled | TimedOut | Superseded

/** How a question ended. */
export type QuestionSettlement = Answered<QuestionAnswer> | Undecided
/** How a form ended. */
export type FormSettlement = Answered<FormAnswer> | Undecided
/** How an approval ended. */
export type ApprovalSettlement = Approved<ApprovalAnswer> | Denied<ApprovalAnswer> | Undecided
/** `denied` means that the person asked for changes; its `message` has the feedback. */
export type PlanReviewSettlement = Approved<PlanReviewAnswer> | Denied<PlanReviewAnswer> | Undecided

/** How an interaction of any kind was settled. Only `answered` and `approved` mean that a person agreed. */
export type Settlement<Answer = Json> = Answered<Answer> | Approved<Answer> | Denied<Answer> | Undecided

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
      const input = copyJson(allowedInput(interaction))
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

/** The input that may run: for a plan the request with the plan as it was approved. */
function allowedInput(interaction: Interaction): Json {
  if (isOfKind(interaction, 'plan_review')) return approvedPlan(interaction)
  return isOfKind(interaction, 'approval') ? approvedInput(interaction) : interaction.request
}

function approvedPlan({ request, answer }: InteractionOf<'plan_review'>): Json {
  return answer?.updatedPlan === undefined ? request : withPlan(request, answer.updatedPlan)
}
