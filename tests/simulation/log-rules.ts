import type { Append } from '@askback/core'
import {
  canonicalJson,
  digestOf,
  type EventOf,
  type Json,
  type PermissionMode,
  type SessionEvent,
} from '@askback/protocol'
import { isLate, statusOf } from './log-facts.js'
import type { LoggedInteraction, LogModel, LoggedSession } from './log-model.js'
import { checkAsked, checkOrigin } from './origin-rules.js'
import { holds } from './violation.js'

/** Adds a committed append to the model and checks every rule that one append can break. */
export function checkCommit(model: LogModel, append: Append): void {
  const { events, expectedSeq } = append
  const before = expectedSeq === 0 ? undefined : model.sessions.get(append.sessionId)
  const was = before && { status: statusOf(before), pending: new Set(before.pending), mode: before.mode }
  const session = model.commit(append)
  for (const [index, event] of events.entries()) {
    checkOrder(model, events, index, event)
    checkTime(session, event)
    const mode = was?.mode ?? session.mode
    if (event.type === 'interaction_request') {
      checkRequest(model, append, session, event)
      checkAsked(model, model.known(event.interactionId), mode)
    }
    if (event.type === 'interaction_response') checkOrigin(model, append, event, mode)
  }
  checkCancelling(session, events, was?.pending ?? new Set())
  checkStatus(session, events, was?.status ?? 'idle')
  checkMode(model, session, events, was?.mode ?? session.mode)
}

/** `at` never decreases in a log, whichever process writes and however its clock was changed. */
function checkTime({ events }: LoggedSession, { seq, sessionId, at }: SessionEvent): void {
  const previous = events[seq - 2]
  holds(!previous || previous.at <= at, 'time', () => `seq ${seq} of ${sessionId} is dated before ${seq - 1}`)
}

/** L1, L2, L6, L11: which events are adjacent. */
function checkOrder(model: LogModel, events: SessionEvent[], index: number, event: SessionEvent): void {
  const previous = events[index - 1]
  const next = events[index + 1]
  const where = () =>
    `seq ${event.seq} of ${event.sessionId}, among ${events.map(({ type }) => type).join(' ')}`
  if (event.type === 'interaction_request') holds(isPending(previous, event, true), 'L1', where)
  if (event.type === 'interaction_pending' && event.pending) {
    holds(next?.type === 'interaction_request' && next.interactionId === event.interactionId, 'L1', where)
    const again = event.reason === 'reprompted'
    holds(again === (next.errors !== undefined), 'L6', where)
  }
  if (event.type === 'interaction_pending' && !event.pending) {
    const answered = previous?.type === 'interaction_response' ? previous : null
    holds(answered?.interactionId === event.interactionId, 'L2', where)
    holds(event.reason === answered.settlement, 'L2', where)
  }
  if (event.type !== 'interaction_response') return
  holds(isPending(next, event, false), 'L2', where)
  if (event.settlement !== 'superseded') return
  const successor = events.find(
    (other): other is EventOf<'interaction_request'> =>
      other.type === 'interaction_request' && other.interactionId === event.supersededBy,
  )
  holds(successor !== undefined && successor.seq > event.seq + 1, 'L6', where)
  const { toolCallId, kind } = successor
  holds(toolCallId === event.toolCallId && kind === event.kind, 'L6', where)
  if (successor.errors) checkReprompt(model.known(event.interactionId), successor)
}

function isPending(
  event: SessionEvent | undefined,
  { interactionId, toolCallId }: { interactionId: string; toolCallId: string },
  pending: boolean,
): boolean {
  if (event?.type !== 'interaction_pending' || event.pending !== pending) return false
  return event.interactionId === interactionId && event.toolCallId === toolCallId
}

function checkReprompt(old: LoggedInteraction, next: EventOf<'interaction_request'>): void {
  const { request } = old
  const same = ({ expiresAt, onTimeout, digest, request: body }: typeof next) =>
    canonicalJson({ expiresAt: expiresAt ?? null, onTimeout, digest, body })
  holds(same(next) === same(request), 'L6', () => `${next.interactionId} asks something else than before`)
  holds(
    !isLate(request, next.requestedAt),
    'L4',
    () => `${request.interactionId} is asked again after its end`,
  )
}

/** L11, L12 and the idempotency of opening. */
function checkRequest(
  model: LogModel,
  append: Append,
  session: LoggedSession,
  event: EventOf<'interaction_request'>,
): void {
  const { interactionId, toolName, kind, request, digest, agentId = '' } = event
  const subject = kind === 'approval' ? (request as { input: Json }).input : request
  holds(digest === digestOf(toolName, subject), 'L12', () => `${interactionId} has another digest`)
  if (event.anchor === 'matched') checkMatched(session, event)
  if (event.errors) return
  const sent = model.sent.get(agentId)
  holds(
    sent?.what === 'open' && sent.digest === digest,
    'no invention',
    () => `nobody asked ${interactionId}`,
  )
  // A repeated request without a key, but with `attach`, opens another interaction if the first was superseded.
  const same = session.interactions.filter(
    (one) =>
      one.request.agentId === agentId &&
      !one.request.errors &&
      (sent.keyed || one.response?.settlement !== 'superseded'),
  )
  holds(same.length === 1, 'idempotency', () => `${agentId} has opened ${same.length} interactions`)
  if (!sent.owns) return
  const earlier = session.interactions.filter(
    (one) =>
      one.request !== event && one.request.toolCallId === event.toolCallId && one.request.kind === kind,
  )
  for (const one of earlier) {
    const isSame = one.request.digest === digest && one.response?.settlement !== 'superseded'
    holds(!isSame, 'L11', () => `${interactionId} does not attach to ${one.request.interactionId}`)
  }
  const pending = earlier.filter(({ response }) => !response)
  const gone = earlier.some(({ response }) => response?.supersededBy === interactionId)
  const stays = () => `${pending.map((one) => one.request.interactionId).join()} beside ${interactionId}`
  holds(pending.length === 0 || gone || settlesOneOf(append, earlier), 'L11', stays)
}

/** Rendezvous: the matched tool call was reported, ended at most 30 seconds ago, and no other interaction is matched to it. */
function checkMatched(session: LoggedSession, event: EventOf<'interaction_request'>): void {
  const { interactionId, toolCallId, at, errors } = event
  const where = () => `${interactionId} at ${toolCallId}`
  const holders = session.interactions.filter(
    ({ request, response }) => !response && request.anchor === 'matched' && request.toolCallId === toolCallId,
  )
  holds(holders.length <= 1, 'rendezvous', where)
  const ofCall = session.events.filter((one) => 'toolCallId' in one && one.toolCallId === toolCallId)
  holds(
    ofCall.some(({ type }) => type === 'tool_call'),
    'rendezvous',
    where,
  )
  const end = ofCall.find(({ type }) => type === 'tool_result')
  holds(errors !== undefined || !end || at - end.at <= 30_000, 'rendezvous', where)
}

/** Whether this append settled one of the earlier interactions, by its successor or by its deadline. */
function settlesOneOf({ events }: Append, interactions: LoggedInteraction[]): boolean {
  return interactions.some(({ response }) => response !== undefined && events.includes(response))
}

/** L7, L8: which pending interactions a report or a command must cancel. */
function checkCancelling(session: LoggedSession, events: SessionEvent[], pending: Set<string>): void {
  for (const event of events) {
    const cancelsAll =
      (event.type === 'error' && event.code !== 'agent_lost') ||
      event.type === 'context_cleared' ||
      (event.type === 'session_status' && event.status === 'ended')
    if (cancelsAll) {
      const left = [...session.pending].filter((id) => pending.has(id))
      holds(left.length === 0, 'L8', () => `${left.join()} stays pending after ${event.type}`)
    }
    if (event.type === 'tool_result') {
      const left = session.interactions.filter(
        ({ request, response }) =>
          !response && request.toolCallId === event.toolCallId && request.anchor === 'exact',
      )
      holds(left.length === 0, 'L7', () => `${event.toolCallId} has ended with an interaction pending`)
    }
  }
}

/** L13: a change of status is recorded once, as the last event of its append. */
function checkStatus(session: LoggedSession, events: SessionEvent[], before: string): void {
  const status = statusOf(session)
  const statusEvents = events.filter((event) => event.type === 'session_status')
  const where = () =>
    `${session.id} at ${session.events.length} is ${status} after ${before}, with ${statusEvents.length} status events`
  holds(statusEvents.length <= 1, 'L13', where)
  const last = events.at(-1)
  if (statusEvents.length === 1)
    holds(last === statusEvents[0] && statusEvents[0]?.status === status, 'L13', where)
  else holds(status === before, 'L13', where)
}

const planModes: Record<string, PermissionMode> = {
  clean_edit: 'acceptEdits',
  edit: 'acceptEdits',
  default: 'default',
}

/** An approved plan sets its own mode; apart from that only a command changes the mode, in an append of its own. */
function checkMode(
  model: LogModel,
  session: LoggedSession,
  events: SessionEvent[],
  before: PermissionMode,
): void {
  if (session.ended) return
  const plans = events.flatMap((event) => {
    if (event.type !== 'interaction_response' || event.settlement !== 'approved') return []
    const { decision } = event.answer as { decision: string }
    return model.known(event.interactionId).request.kind === 'plan_review' ? [planModes[decision]] : []
  })
  const mode = plans.at(-1) ?? (events.length === 1 ? session.mode : before)
  holds(session.mode === mode, 'permissions', () => `${session.id} is in ${session.mode}, not ${mode}`)
}
