import {
  AskbackError,
  digestOf,
  questionAnswer,
  type Actor,
  type ApprovalAnswer,
  type ApprovalRequest,
  type Interaction,
  type Json,
  type NewEvent,
  type OnTimeout,
  type PlanReviewAnswer,
  type QuestionRequest,
  type SessionState,
  type SettlementKind,
  type Via,
} from '@askback/protocol'
import type { Command, Context, Decision, RespondCommand } from './command.js'
import { parseWith, type InteractionKind, type Outcome, type Reprompt } from './kinds.js'
import { planEffect } from './plan-review.js'
import { checkReply } from './question.js'
import { newRule, ruleWrite } from './rules.js'
import type { KvWrite } from './store.js'

type CommandOf<Type extends Command['type']> = Extract<Command, { type: Type }>

export function respond(state: SessionState, command: RespondCommand, context: Context): Decision {
  const { interactionId, digest, answer, by, via } = command
  const item = interactionOf(state, interactionId, context)
  if (item.status === 'settled') throw alreadySettled(item)
  const late = expired(item, context.now) ? expire(state, { type: 'expire', interactionId }, context) : null
  if (late) return { ...late, refusal: { code: 'already_settled' } }
  if (digest !== undefined && digest !== item.digest) {
    throw new AskbackError(
      'digest_mismatch',
      'The answer is for another version of this request. Look at what is asked now, and answer that.',
      { details: { digest: item.digest } },
    )
  }
  const outcome = outcomeOf(kindOf(item, context), item.request, answer)
  if ('errors' in outcome) return reprompt(item, outcome, answer, context)
  return settleWith(state, item, outcome, { ...(by && { by }), via }, context)
}

/** A question answered in part, on a surface that asks one at a time. */
export function progress(state: SessionState, command: CommandOf<'progress'>, context: Context): Decision {
  const { interactionId } = command
  const item = interactionOf(state, interactionId, context)
  if (item.status === 'settled') throw alreadySettled(item)
  if (expired(item, context.now)) {
    return {
      ...expire(state, { type: 'expire', interactionId }, context),
      refusal: { code: 'already_settled' },
    }
  }
  const answers = partialAnswers(item, command.answers)
  return { interactionId, events: [{ type: 'interaction_progress', interactionId, answers }] }
}

export function cancel(state: SessionState, command: CommandOf<'cancel'>, context: Context): Decision {
  const { interactionId, by, via, message } = command
  const item = interactionOf(state, interactionId, context)
  if (item.status === 'settled') throw alreadySettled(item)
  if (expired(item, context.now)) {
    return {
      ...expire(state, { type: 'expire', interactionId }, context),
      refusal: { code: 'already_settled' },
    }
  }
  return {
    interactionId,
    events: settlement(item, { settlement: 'cancelled', ...optional({ by, via, message }) }, context),
  }
}

/** L4, L5: the deadline's own outcome. Asked too early, or for what is settled, it does nothing. */
export function expire(state: SessionState, command: CommandOf<'expire'>, context: Context): Decision {
  const { interactionId } = command
  const item = state.interactions.get(interactionId)
  if (!item || item.status === 'settled' || !expired(item, context.now)) return { interactionId, events: [] }
  const declared = declaredAnswer(item.onTimeout)
  if (declared === undefined) {
    return { interactionId, events: settlement(item, { settlement: 'timed_out' }, context) }
  }
  const outcome = outcomeOf(kindOf(item, context), item.request, declared)
  // It was checked when it was opened; a kind that has changed its mind since must not block the deadline.
  if ('errors' in outcome)
    return { interactionId, events: settlement(item, { settlement: 'timed_out' }, context) }
  return settleWith(state, item, outcome, { via: 'policy' }, context)
}

/** L10: the claim that precedes the hand-over, once. */
export function deliver(state: SessionState, command: CommandOf<'deliver'>, context: Context): Decision {
  const { interactionId, to } = command
  const item = interactionOf(state, interactionId, context)
  if (item.status === 'pending' || item.delivered) return { interactionId, events: [] }
  return { interactionId, events: [delivered(item, to)] }
}

/** Settles everything that is pending as cancelled (L8). */
export function cancelAll(
  state: SessionState,
  how: { by?: Actor; via?: Via; message: string },
  context: Context,
): NewEvent[] {
  return [...state.pending].flatMap((id) =>
    settlement(state.interactions.get(id)!, { settlement: 'cancelled', ...how }, context),
  )
}

/** L2: the response, the end of pending, and the claim of whoever waits in this process. */
export function settlement(
  item: Interaction,
  how: {
    settlement: SettlementKind
    answer?: Json
    message?: string
    by?: Actor
    via?: Via
    updatedDigest?: string
  },
  context: Context,
): NewEvent[] {
  const to = context.claimant(item.interactionId)
  const { interactionId, toolCallId, toolName, kind, presentation, digest } = item
  const place = placeOf(item)
  return [
    { type: 'interaction_response', interactionId, toolCallId, toolName, kind, digest, ...how, ...place },
    {
      type: 'interaction_pending',
      interactionId,
      toolCallId,
      toolName,
      pending: false,
      presentation,
      reason: how.settlement,
      ...place,
    },
    ...(to === null ? [] : [delivered(item, to)]),
  ]
}

export function delivered(item: Interaction, to: string): NewEvent {
  return {
    type: 'interaction_delivered',
    interactionId: item.interactionId,
    toolCallId: item.toolCallId,
    to,
    ...placeOf(item),
  }
}

export function outcomeOf(kind: InteractionKind, request: Json, answer: Json): Outcome | Reprompt {
  const parsed = parseWith(kind.answer, answer, { code: 'invalid_answer', what: 'the answer' })
  // The request was parsed by this kind when it was opened.
  return kind.settle ? kind.settle(request, parsed) : { settlement: 'answered', answer: parsed as Json }
}

export function placeOf(item: { turnId?: string | undefined; responseId?: string | undefined }) {
  return optional({ turnId: item.turnId, responseId: item.responseId })
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
  who: { by?: Actor; via: Via },
  context: Context,
): Decision {
  const { interactionId } = item
  const updatedDigest = editedDigest(item, outcome.answer)
  const events = settlement(
    item,
    { ...outcome, ...who, ...(updatedDigest !== undefined && { updatedDigest }) },
    context,
  )
  const kv = storedRule(state, item, outcome.answer, who, context)
  if (item.kind === 'plan_review' && outcome.settlement === 'approved') {
    const effect = planEffect((outcome.answer as PlanReviewAnswer).decision)
    if (effect) events.push({ type: 'session_status', status: state.status, permissionMode: effect.mode })
  }
  return { interactionId, events, ...(kv && { kv }) }
}

/** L6: in one append the old one gives way to a new one that carries the errors and what was typed. */
function reprompt(item: Interaction, { errors }: Reprompt, answer: Json, context: Context): Decision {
  const interactionId = context.newId()
  const { toolCallId, toolName, kind, presentation, digest, request, onTimeout, expiresAt, agentId, anchor } =
    item
  const place = placeOf(item)
  const deadline = optional({ expiresAt })
  return {
    interactionId,
    refusal: { code: 'invalid_answer', errors },
    events: [
      {
        type: 'interaction_response',
        interactionId: item.interactionId,
        toolCallId,
        toolName,
        kind,
        digest,
        settlement: 'superseded',
        supersededBy: interactionId,
        ...place,
      },
      {
        type: 'interaction_pending',
        interactionId,
        toolCallId,
        toolName,
        pending: true,
        presentation,
        reason: 'reprompted',
        ...deadline,
        ...place,
      },
      {
        type: 'interaction_request',
        interactionId,
        toolCallId,
        toolName,
        kind,
        presentation,
        request,
        digest,
        requestedAt: context.now,
        ...deadline,
        onTimeout,
        errors,
        progress: answer,
        ...optional({ agentId, anchor }),
        ...place,
      },
    ],
  }
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

function storedRule(
  state: SessionState,
  item: Interaction,
  answer: Json,
  who: { by?: Actor },
  context: Context,
): KvWrite[] | undefined {
  if (item.kind !== 'approval') return undefined
  const { decision, scope = 'once' } = answer as ApprovalAnswer
  if (decision !== 'approve' || scope === 'once') return undefined
  const { input } = item.request as ApprovalRequest
  const rule = newRule({ scope, toolName: item.toolName, input, session: state, by: who.by, at: context.now })
  return [ruleWrite(rule)]
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

function declaredAnswer(onTimeout: OnTimeout): Json | undefined {
  return typeof onTimeout === 'object' ? onTimeout.answer : undefined
}

type Present<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** Leaves out what is undefined, so that an event has a field or has it not. */
export function optional<T extends object>(fields: T): Present<T> {
  const present: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(fields)) if (value !== undefined) present[key] = value
  return present as Present<T>
}
