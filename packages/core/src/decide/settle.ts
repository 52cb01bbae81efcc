import {
  AskbackError,
  checkReply,
  copyJson,
  digestOf,
  isOfKind,
  pendingOf,
  questionAnswer,
  type Actor,
  type BuiltInKind,
  type Interaction,
  type InteractionOf,
  type Json,
  type SessionState,
  type Via,
} from '@askback/protocol'
import {
  atOnce,
  forSchema,
  parseWith,
  type InteractionKind,
  type AcceptedAnswer,
  type Reprompt,
} from '../kinds/kinds.js'
import { planEffect, withPlan } from '../kinds/plan-review.js'
import { optional } from '../optional.js'
import {
  mergeParts,
  type CommandOf,
  type Context,
  type Decision,
  type PartialDecision,
  type RespondCommand,
} from './command.js'
import {
  deliveredEvent,
  pendingEvent,
  requestEvent,
  responseEvent,
  settleEvents,
} from './interaction-events.js'
import { newRule, ruleWrite, type ApprovalRule } from './rules.js'

export function respond(state: SessionState, command: RespondCommand, context: Context): Decision {
  const { interactionId, digest, answer, by, via } = command
  const item = interactionOf(state, interactionId, context)
  if (item.status === 'settled') throw alreadySettled(item)
  if (isExpired(item, context.now)) return refuseAsLate(state, item, context)
  if (digest !== undefined && digest !== item.digest) {
    throw new AskbackError(
      'digest_mismatch',
      'The answer is for another version of this request. Look at what is asked now, and answer that.',
      { details: { digest: item.digest } },
    )
  }
  const result = applyAnswer(kindOf(item, context), item.request, answer)
  if ('errors' in result) return reprompt(item, result, answer, context)
  return settleWith(state, item, result, { by, via }, context)
}

/** Records the replies to the first questions of a request, for a surface that asks one at a time. */
export function progress(state: SessionState, command: CommandOf<'progress'>, context: Context): Decision {
  const { interactionId } = command
  const item = interactionOf(state, interactionId, context)
  if (item.status === 'settled') throw alreadySettled(item)
  if (isExpired(item, context.now)) return refuseAsLate(state, item, context)
  const answers = partialAnswers(item, command.answers)
  return { interactionId, events: [{ type: 'interaction_progress', interactionId, answers }] }
}

export function cancel(state: SessionState, command: CommandOf<'cancel'>, context: Context): Decision {
  const { interactionId, by, via, message } = command
  const item = interactionOf(state, interactionId, context)
  if (item.status === 'settled') throw alreadySettled(item)
  if (isExpired(item, context.now)) return refuseAsLate(state, item, context)
  return { interactionId, ...settleEvents(item, { settlement: 'cancelled', by, via, message }, context) }
}

/**
 * Cancels the pending interactions that `isMeant` selects (L7, L8). One that is past its deadline settles by its deadline
 * instead (L4).
 */
export function cancelPending(
  state: SessionState,
  how: { by?: Actor | undefined; via?: Via | undefined; message: string },
  context: Context,
  isMeant: (item: Interaction) => boolean = () => true,
): PartialDecision {
  const parts = pendingOf(state)
    .filter(isMeant)
    .map((item) =>
      isExpired(item, context.now)
        ? settleByDeadline(state, item, context)
        : settleEvents(item, { settlement: 'cancelled', ...how }, context),
    )
  return mergeParts(...parts)
}

/** L4, L5: settles as the deadline says. Does nothing before the deadline, or if the interaction is settled. */
export function expire(state: SessionState, command: CommandOf<'expire'>, context: Context): Decision {
  const { interactionId } = command
  const item = state.interactions.get(interactionId)
  if (!item || item.status === 'settled' || !isExpired(item, context.now))
    return { interactionId, events: [] }
  return settleByDeadline(state, item, context)
}

/** Settles an interaction that is past its deadline: with its declared answer if it has a valid one, else as timed out. */
export function settleByDeadline(state: SessionState, item: Interaction, context: Context): Decision {
  const { interactionId } = item
  const result = declaredResult(item, context)
  if (result) return settleWith(state, item, result, { via: 'policy' }, context)
  return { interactionId, ...settleEvents(item, { settlement: 'timed_out' }, context) }
}

/** The answer of a person that arrives after the deadline is refused, and the deadline takes effect. */
export function refuseAsLate(state: SessionState, item: Interaction, context: Context): Decision {
  return { ...settleByDeadline(state, item, context), refusal: { code: 'already_settled' } }
}

/** L10: an agent may only act on a settlement after its claim is durable. A second claim does nothing. */
export function deliver(state: SessionState, command: CommandOf<'deliver'>, context: Context): Decision {
  const { interactionId, to } = command
  const item = interactionOf(state, interactionId, context)
  if (item.status === 'pending' || item.delivered) return { interactionId, events: [] }
  return { interactionId, events: [deliveredEvent(item, to)] }
}

/** L6: supersedes the interaction and opens it again, with the errors and the answer that was typed, in one append. */
function reprompt(item: Interaction, { errors }: Reprompt, answer: Json, context: Context): Decision {
  const interactionId = context.newId()
  const repromptOf = item.repromptOf ?? item.interactionId
  const again = { ...item, interactionId, requestedAt: context.now, errors, progress: answer, repromptOf }
  const response = responseEvent(item, { settlement: 'superseded', supersededBy: interactionId })
  return {
    interactionId,
    refusal: { code: 'invalid_answer', errors },
    // It is not claimed: its waiters wait for the new interaction.
    settled: [{ interaction: item, response, claimant: null }],
    events: [
      response,
      pendingEvent(item, false, 'superseded'),
      pendingEvent(again, true, 'reprompted'),
      requestEvent(again),
    ],
  }
}

/** What the kind makes of an answer: a settlement, or errors for a reprompt. Throws `invalid_answer` if it does not fit the schema. */
export function applyAnswer(kind: InteractionKind, request: Json, answer: Json): AcceptedAnswer | Reprompt {
  const given = parseWith(kind.answer, forSchema(kind, answer), {
    code: 'invalid_answer',
    what: 'the answer',
  })
  if (!kind.settle) return { settlement: 'answered', answer: copyJson(given, 'the parsed answer') }
  // The log holds the request as it was sent; the kind gets the output of its schema.
  const asked = kind.plain
    ? request
    : parseWith(kind.request, forSchema(kind, request), { code: 'invalid_request', what: 'the request' })
  return checkKindResult(kind, atOnce(kind, 'settle', kind.settle(asked, given)))
}

/** The `settle` of a kind is the embedder's code: validates its result before it goes into the log. */
function checkKindResult(
  { kind }: InteractionKind,
  result: AcceptedAnswer | Reprompt,
): AcceptedAnswer | Reprompt {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an embedder without types may return anything: the fields are checked below
  const { settlement, answer, message, errors } = Object(result) as Partial<AcceptedAnswer & Reprompt>
  if (settlement !== undefined && KIND_SETTLEMENTS.has(settlement) && isText(message ?? ''))
    return { settlement, answer: copyJson(answer, 'answer'), ...(message !== undefined && { message }) }
  const isReprompt = typeof errors === 'object' && errors !== null && Object.values(errors).every(isText)
  if (settlement === undefined && isReprompt) return { errors }
  throw new AskbackError(
    'internal',
    `The kind ${kind} settles with neither a settlement and an answer nor errors.`,
  )
}

const KIND_SETTLEMENTS: ReadonlySet<string> = new Set<AcceptedAnswer['settlement']>([
  'answered',
  'approved',
  'denied',
])

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

export function isExpired(item: Interaction, now: number): boolean {
  return item.expiresAt !== undefined && item.onTimeout !== 'keep' && now >= item.expiresAt
}

function settleWith(
  state: SessionState,
  item: Interaction,
  result: AcceptedAnswer,
  who: { by?: Actor | undefined; via: Via },
  context: Context,
): Decision {
  const { interactionId } = item
  const { settlement, answer, message } = result
  const updatedDigest = editedDigest(item, answer)
  const { by, via } = who
  const rule = requestedRule(state, item, answer, who, context)
  const how = { settlement, answer, message, by, via, updatedDigest, ruleId: rule?.id }
  const { events, settled } = settleEvents(item, how, context)
  if (settlement === 'approved' && isAnswerTo(item, 'plan_review', answer)) {
    const effect = planEffect(answer.decision)
    // The new mode follows from the decision, so the log attributes it to the person who decided.
    if (effect) {
      const changed = { status: state.status, permissionMode: effect.mode, ...optional({ by, via }) }
      events.push({ type: 'session_status', ...changed })
    }
  }
  return { interactionId, events, settled, kv: rule && [ruleWrite(rule)] }
}

/** L12: an input or plan that the person edited gets its own digest. */
function editedDigest(item: Interaction, answer: Json): string | undefined {
  if (isAnswerTo(item, 'approval', answer)) {
    const { updatedInput } = answer
    return updatedInput === undefined ? undefined : digestOf(item.toolName, updatedInput)
  }
  if (isOfKind(item, 'plan_review') && isAnswerTo(item, 'plan_review', answer)) {
    const { updatedPlan } = answer
    if (updatedPlan === undefined) return undefined
    return digestOf(item.toolName, withPlan(item.request, updatedPlan))
  }
  return undefined
}

/** The rule that an approval with the scope `session` or `always` creates. Throws `invalid_answer` if it cannot exist. */
export function requestedRule(
  state: SessionState,
  item: Interaction,
  answer: Json,
  who: { by?: Actor | undefined },
  context: Context,
): ApprovalRule | undefined {
  if (!isOfKind(item, 'approval') || !isAnswerTo(item, 'approval', answer)) return undefined
  const { decision, scope = 'once' } = answer
  if (decision !== 'approve' || scope === 'once') return undefined
  const { input } = item.request
  return newRule({ scope, toolName: item.toolName, input, session: state, by: who.by, at: context.now })
}

/** Whether the interaction is of this kind, whose schema has then checked the answer. */
function isAnswerTo<Kind extends BuiltInKind>(
  item: Interaction,
  kind: Kind,
  _answer: Json,
): _answer is NonNullable<InteractionOf<Kind>['answer']> {
  return item.kind === kind
}

function partialAnswers(item: Interaction, answers: Json): Json {
  if (!isOfKind(item, 'question'))
    throw new AskbackError('invalid_request', 'Only a question can be answered in parts.')
  const { request } = item
  const parsed = parseWith(questionAnswer, { answers }, { code: 'invalid_answer', what: 'the answer' })
  if (parsed.answers.length >= request.questions.length) {
    throw new AskbackError('invalid_answer', 'These answer every question: send them as the answer.')
  }
  return parsed.answers.map((reply, index) => checkReply(request, index, reply))
}

function kindOf(item: Interaction, context: Context): InteractionKind {
  const kind = context.kind(item.kind)
  if (kind) return kind
  throw new AskbackError('unknown_kind', `The kind ${JSON.stringify(item.kind)} is not defined here.`)
}

/**
 * The answer that was declared for the deadline was valid when the interaction was opened. If its kind is no longer defined, or
 * rejects it now, the interaction times out instead of staying pending for ever.
 */
function declaredResult(item: Interaction, context: Context): AcceptedAnswer | null {
  if (typeof item.onTimeout === 'string') return null
  try {
    const result = applyAnswer(kindOf(item, context), item.request, item.onTimeout.answer)
    return 'errors' in result ? null : result
  } catch {
    return null
  }
}
