import {
  AskbackError,
  checkReply,
  copyJson,
  digestOf,
  questionAnswer,
  type Actor,
  type ApprovalAnswer,
  type ApprovalRequest,
  type Interaction,
  type Json,
  type PlanReviewAnswer,
  type QuestionRequest,
  type SessionState,
  type Via,
} from '@askback/protocol'
import {
  atOnce,
  forSchema,
  parseWith,
  type InteractionKind,
  type Outcome,
  type Reprompt,
} from '../kinds/kinds.js'
import { planEffect } from '../kinds/plan-review.js'
import { optional } from '../optional.js'
import type { Command, Context, Decision, RespondCommand } from './command.js'
import { delivered, settlement } from './interaction-events.js'
import { reprompt } from './reprompt.js'
import { newRule, ruleWrite, type ApprovalRule } from './rules.js'

type CommandOf<Type extends Command['type']> = Extract<Command, { type: Type }>

export function respond(state: SessionState, command: RespondCommand, context: Context): Decision {
  const { interactionId, digest, answer, by, via } = command
  const item = interactionOf(state, interactionId, context)
  if (item.status === 'settled') throw alreadySettled(item)
  if (expired(item, context.now)) return tooLate(state, item, context)
  if (digest !== undefined && digest !== item.digest) {
    throw new AskbackError(
      'digest_mismatch',
      'The answer is for another version of this request. Look at what is asked now, and answer that.',
      { details: { digest: item.digest } },
    )
  }
  const outcome = outcomeOf(kindOf(item, context), item.request, answer)
  if ('errors' in outcome) return reprompt(item, outcome, answer, context)
  return settleWith(state, item, outcome, { by, via }, context)
}

/** A question answered in part, on a surface that asks one at a time. */
export function progress(state: SessionState, command: CommandOf<'progress'>, context: Context): Decision {
  const { interactionId } = command
  const item = interactionOf(state, interactionId, context)
  if (item.status === 'settled') throw alreadySettled(item)
  if (expired(item, context.now)) return tooLate(state, item, context)
  const answers = partialAnswers(item, command.answers)
  return { interactionId, events: [{ type: 'interaction_progress', interactionId, answers }] }
}

export function cancel(state: SessionState, command: CommandOf<'cancel'>, context: Context): Decision {
  const { interactionId, by, via, message } = command
  const item = interactionOf(state, interactionId, context)
  if (item.status === 'settled') throw alreadySettled(item)
  if (expired(item, context.now)) return tooLate(state, item, context)
  return {
    interactionId,
    events: settlement(item, { settlement: 'cancelled', by, via, message }, context),
  }
}

/** L4, L5: the deadline's own outcome. Asked too early, or for what is settled, it does nothing. */
export function expire(state: SessionState, command: CommandOf<'expire'>, context: Context): Decision {
  const { interactionId } = command
  const item = state.interactions.get(interactionId)
  if (!item || item.status === 'settled' || !expired(item, context.now)) return { interactionId, events: [] }
  return lapse(state, item, context)
}

/** What the deadline makes of an interaction that is past it. */
export function lapse(state: SessionState, item: Interaction, context: Context): Decision {
  const { interactionId } = item
  const outcome = declaredOutcome(item, context)
  if (outcome) return settleWith(state, item, outcome, { via: 'policy' }, context)
  return { interactionId, events: settlement(item, { settlement: 'timed_out' }, context) }
}

export function tooLate(state: SessionState, item: Interaction, context: Context): Decision {
  return { ...lapse(state, item, context), refusal: { code: 'already_settled' } }
}

/** L10: the claim that precedes the hand-over, once. */
export function deliver(state: SessionState, command: CommandOf<'deliver'>, context: Context): Decision {
  const { interactionId, to } = command
  const item = interactionOf(state, interactionId, context)
  if (item.status === 'pending' || item.delivered) return { interactionId, events: [] }
  return { interactionId, events: [delivered(item, to)] }
}

export function outcomeOf(kind: InteractionKind, request: Json, answer: Json): Outcome | Reprompt {
  const given = parseWith(kind.answer, forSchema(kind, answer), {
    code: 'invalid_answer',
    what: 'the answer',
  })
  if (!kind.settle) return { settlement: 'answered', answer: copyJson(given, 'the parsed answer') }
  // The log holds what was sent; the kind sees what its schema makes of that.
  const asked = kind.plain
    ? request
    : parseWith(kind.request, forSchema(kind, request), { code: 'invalid_request', what: 'the request' })
  return checkOutcome(kind, atOnce(kind, 'settle', kind.settle(asked, given)))
}

/** What is written to the log must be what the log can hold, whoever made the kind. */
function checkOutcome({ kind }: InteractionKind, outcome: Outcome | Reprompt): Outcome | Reprompt {
  const { settlement: ends, answer, message, errors } = Object(outcome) as Partial<Outcome & Reprompt>
  if (ends !== undefined && SETTLES.has(ends) && isText(message ?? ''))
    return { settlement: ends, answer: copyJson(answer, 'answer'), ...(message !== undefined && { message }) }
  const isReprompt = typeof errors === 'object' && errors !== null && Object.values(errors).every(isText)
  if (ends === undefined && isReprompt) return { errors }
  throw new AskbackError(
    'internal',
    `The kind ${kind} settles with neither a settlement and an answer nor errors.`,
  )
}

const SETTLES: ReadonlySet<string> = new Set<Outcome['settlement']>(['answered', 'approved', 'denied'])

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.isWellFormed()
}

export function interactionOf(state: SessionState, interactionId: string, context: Context): Interaction {
  const item = state.interactions.get(interactionId) ?? context.found
  if (item?.interactionId === interactionId && item.sessionId === state.sessionId) return item
  throw new AskbackError('not_found', `There is no interaction ${interactionId} in this session.`)
}

export function alreadySettled(item: Interaction): AskbackError {
  const who = item.by ? ` by ${item.by.name ?? item.by.id}` : ''
  return new AskbackError('already_settled', `This was already settled${who}: ${item.settlement}.`, {
    details: { interaction: item },
  })
}

export function expired(item: Interaction, now: number): boolean {
  return item.expiresAt !== undefined && item.onTimeout !== 'keep' && now >= item.expiresAt
}

function settleWith(
  state: SessionState,
  item: Interaction,
  outcome: Outcome,
  who: { by?: Actor | undefined; via: Via },
  context: Context,
): Decision {
  const { interactionId } = item
  const updatedDigest = editedDigest(item, outcome.answer)
  const { settlement: ends, answer, message } = outcome
  const { by, via } = who
  const rule = storedRule(state, item, outcome.answer, who, context)
  const how = { settlement: ends, answer, message, by, via, updatedDigest, ruleId: rule?.id }
  const events = settlement(item, how, context)
  if (item.kind === 'plan_review' && outcome.settlement === 'approved') {
    const effect = planEffect((outcome.answer as PlanReviewAnswer).decision)
    // The mode follows from the decision, so it is the act of whoever decided.
    if (effect) {
      const changed = { status: state.status, permissionMode: effect.mode, ...optional({ by, via }) }
      events.push({ type: 'session_status', ...changed })
    }
  }
  return { interactionId, events, kv: rule && [ruleWrite(rule)] }
}

/** L12: an input that the person changed gets a digest of its own. */
function editedDigest(item: Interaction, answer: Json): string | undefined {
  if (item.kind === 'approval') {
    const { updatedInput } = answer as ApprovalAnswer
    return updatedInput === undefined ? undefined : digestOf(item.toolName, updatedInput)
  }
  if (item.kind === 'plan_review') {
    const { updatedPlan } = answer as PlanReviewAnswer
    if (updatedPlan === undefined) return undefined
    return digestOf(item.toolName, { ...(item.request as { [key: string]: Json }), plan: updatedPlan })
  }
  return undefined
}

/** Throws `invalid_answer` where the rule that the answer asks for cannot be. */
export function storedRule(
  state: SessionState,
  item: Interaction,
  answer: Json,
  who: { by?: Actor | undefined },
  context: Context,
): ApprovalRule | undefined {
  if (item.kind !== 'approval') return undefined
  const { decision, scope = 'once' } = answer as ApprovalAnswer
  if (decision !== 'approve' || scope === 'once') return undefined
  const { input } = item.request as ApprovalRequest
  return newRule({ scope, toolName: item.toolName, input, session: state, by: who.by, at: context.now })
}

function partialAnswers(item: Interaction, answers: Json): Json {
  if (item.kind !== 'question')
    throw new AskbackError('invalid_request', 'Only a question is answered in parts.')
  const request = item.request as QuestionRequest
  const parsed = parseWith(questionAnswer, { answers }, { code: 'invalid_answer', what: 'the answer' })
  if (parsed.answers.length >= request.questions.length) {
    throw new AskbackError('invalid_answer', 'These answer every question: send them as the answer.')
  }
  return parsed.answers.map((reply, index) => checkReply(request, index, reply))
}

function kindOf(item: Interaction, context: Context): InteractionKind {
  const kind = context.kind(item.kind)
  if (kind) return kind
  throw new AskbackError('unknown_kind', `Nobody has defined the kind ${JSON.stringify(item.kind)} here.`)
}

/** It was checked when it was opened; a kind that is gone or has changed its mind must not hold up the deadline. */
function declaredOutcome(item: Interaction, context: Context): Outcome | null {
  if (typeof item.onTimeout === 'string') return null
  try {
    const outcome = outcomeOf(kindOf(item, context), item.request, item.onTimeout.answer)
    return 'errors' in outcome ? null : outcome
  } catch {
    return null
  }
}
