import type {
  Actor,
  EventOf,
  Interaction,
  Json,
  NewEvent,
  SessionEvent,
  SettlementKind,
  Via,
} from '@askback/protocol'
import type { Context, PartialDecision } from './command.js'

// Builds the events of interactions. Each event has its final shape from the start, with placeholders for `seq`, `id` and `at`
// that the append fills in: object spreads, or fields that are added later, cost more time than the decision itself.

export interface SettlementDetails {
  settlement: SettlementKind
  answer?: Json | undefined
  message?: string | undefined
  by?: Actor | undefined
  via?: Via | undefined
  updatedDigest?: string | undefined
  supersededBy?: string | undefined
  ruleId?: string | undefined
}

/** L1: the pending event comes with the request, in one append. */
export function requestEvents(item: Interaction): NewEvent[] {
  return [pendingEvent(item, true, 'requested'), requestEvent(item)]
}

/** L2: the response, the end of pending, and the claim of the waiter in this process if there is one. */
export function settleEvents(item: Interaction, how: SettlementDetails, context: Context): PartialDecision {
  const claimant = context.claimant(item.interactionId)
  const response = responseEvent(item, how)
  const events: NewEvent[] = [response, pendingEvent(item, false, how.settlement)]
  if (claimant !== null) events.push(deliveredEvent(item, claimant))
  return { events, settled: [{ interaction: item, response, claimant }] }
}

export function deliveredEvent(item: Interaction, to: string): EventOf<'interaction_delivered'> {
  const event: EventOf<'interaction_delivered'> = {
    seq: 0,
    id: '',
    sessionId: item.sessionId,
    at: 0,
    type: 'interaction_delivered',
    interactionId: item.interactionId,
    toolCallId: item.toolCallId,
    to,
  }
  return withTurn(event, item)
}

export function pendingEvent(
  item: Interaction,
  pending: boolean,
  reason: EventOf<'interaction_pending'>['reason'],
): EventOf<'interaction_pending'> {
  const event: EventOf<'interaction_pending'> = {
    seq: 0,
    id: '',
    sessionId: item.sessionId,
    at: 0,
    type: 'interaction_pending',
    interactionId: item.interactionId,
    toolCallId: item.toolCallId,
    toolName: item.toolName,
    pending,
    presentation: item.presentation,
    reason,
  }
  if (pending && item.expiresAt !== undefined) event.expiresAt = item.expiresAt
  return withTurn(event, item)
}

export function requestEvent(item: Interaction): EventOf<'interaction_request'> {
  const event: EventOf<'interaction_request'> = {
    seq: 0,
    id: '',
    sessionId: item.sessionId,
    at: 0,
    type: 'interaction_request',
    interactionId: item.interactionId,
    toolCallId: item.toolCallId,
    toolName: item.toolName,
    kind: item.kind,
    presentation: item.presentation,
    request: item.request,
    digest: item.digest,
    requestedAt: item.requestedAt,
    onTimeout: item.onTimeout,
  }
  if (item.expiresAt !== undefined) event.expiresAt = item.expiresAt
  if (item.anchor !== undefined) event.anchor = item.anchor
  if (item.errors !== undefined) event.errors = item.errors
  if (item.progress !== undefined) event.progress = item.progress
  if (item.repromptOf !== undefined) event.repromptOf = item.repromptOf
  if (item.agentId !== undefined) event.agentId = item.agentId
  if (item.openedBy !== undefined) event.openedBy = item.openedBy
  if (item.source !== undefined) event.source = item.source
  if (item.notes !== undefined) event.notes = item.notes
  return withTurn(event, item)
}

export function responseEvent(item: Interaction, how: SettlementDetails): EventOf<'interaction_response'> {
  const event: EventOf<'interaction_response'> = {
    seq: 0,
    id: '',
    sessionId: item.sessionId,
    at: 0,
    type: 'interaction_response',
    interactionId: item.interactionId,
    toolCallId: item.toolCallId,
    toolName: item.toolName,
    kind: item.kind,
    digest: item.digest,
    settlement: how.settlement,
  }
  if (how.answer !== undefined) event.answer = how.answer
  if (how.message !== undefined) event.message = how.message
  if (how.by !== undefined) event.by = how.by
  if (how.via !== undefined) event.via = how.via
  if (how.updatedDigest !== undefined) event.updatedDigest = how.updatedDigest
  if (how.supersededBy !== undefined) event.supersededBy = how.supersededBy
  if (how.ruleId !== undefined) event.ruleId = how.ruleId
  return withTurn(event, item)
}

function withTurn<Event extends Pick<SessionEvent, 'turnId' | 'responseId'>>(
  event: Event,
  item: Interaction,
): Event {
  if (item.turnId !== undefined) event.turnId = item.turnId
  if (item.responseId !== undefined) event.responseId = item.responseId
  return event
}
