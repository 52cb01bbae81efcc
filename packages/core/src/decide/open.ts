import {
  AskbackError,
  pendingOf,
  type Interaction,
  type NewEvent,
  type SessionState,
} from '@askback/protocol'
import { together, type Part } from './close-pending.js'
import type { Context, Decision, OpenCommand, PreparedRequest } from './command.js'
import { delivered, requested, settlement } from './interaction-events.js'
import { judge } from './permissions.js'
import { chooseCall } from './rendezvous.js'
import { expired, lapse, storedRule } from './settle.js'

export function open(state: SessionState, command: OpenCommand, context: Context): Decision {
  const { prepared, agentThread } = command
  if (agentThread !== undefined && state.agentSessionId !== null && agentThread !== state.agentSessionId) {
    throw new AskbackError('ambiguous', 'The agent that asks is not the one of this session.')
  }
  const anchored = anchor(state, command, context)
  if (anchored === 'wait') return { events: [], wait: true }
  const { toolCallId } = anchored
  const existing = command.attach ? sameAsked(state, toolCallId, prepared, context) : undefined
  if (existing) return attach(state, existing, context)
  const replaced = command.attach ? pendingOfCall(state, toolCallId, prepared) : undefined
  const item = interactionFrom(state, command, anchored, context)
  checkDeclaredRule(state, item, context)
  const isAllowed = allowed(state, prepared, context)
  if (!isAllowed && !replaced) checkRoom(state, context)
  const asked = requested(item)
  const events = isAllowed ? [...asked, ...approvedByPolicy(item, command, context)] : asked
  const { interactionId } = item
  if (!replaced) return { events, interactionId }
  return { ...together(giveWay(state, replaced, interactionId, context), { events }), interactionId }
}

interface Anchored {
  toolCallId: string
  anchor: NonNullable<Interaction['anchor']>
  turnId?: string | undefined
  responseId?: string | undefined
}

function anchor(state: SessionState, command: OpenCommand, context: Context): Anchored | 'wait' {
  const { anchoring, turnId, responseId } = command
  switch (anchoring.by) {
    case 'id': {
      const call = state.toolCalls.get(anchoring.toolCallId)
      return {
        toolCallId: anchoring.toolCallId,
        anchor: 'exact',
        turnId: turnId ?? call?.turnId,
        responseId: responseId ?? call?.responseId,
      }
    }
    case 'rendezvous': {
      const chosen = chooseCall({
        calls: [...state.toolCalls.values()].map((call) =>
          call.result ? { ...call, endedAt: call.result.at } : call,
        ),
        claimed: claimedCalls(state),
        toolName: command.prepared.toolName,
        now: context.now,
        final: anchoring.waited,
      })
      if (chosen === 'wait') return 'wait'
      if (chosen === null) return { toolCallId: context.newId(), anchor: 'own', turnId, responseId }
      const call = state.toolCalls.get(chosen.toolCallId)
      return {
        toolCallId: chosen.toolCallId,
        anchor: 'matched',
        turnId: call?.turnId,
        responseId: call?.responseId,
      }
    }
    case 'itself':
      return { toolCallId: context.newId(), anchor: 'own', turnId, responseId }
  }
}

function claimedCalls(state: SessionState): Set<string> {
  const claimed = new Set<string>()
  for (const item of pendingOf(state)) {
    if (item.anchor === 'matched') claimed.add(item.toolCallId)
  }
  return claimed
}

/** L11: what an adapter that owns the tool call takes up again. One that was superseded never counts. */
function sameAsked(
  state: SessionState,
  toolCallId: string,
  { kind, digest }: PreparedRequest,
  context: Context,
): Interaction | undefined {
  let latest = context.found
  for (const item of state.interactions.values()) {
    const same = item.toolCallId === toolCallId && item.kind === kind.kind && item.digest === digest
    if (same && item.settlement !== 'superseded') latest = item
  }
  return latest
}

/** L11: what gives way if the same call now asks for something else. */
function pendingOfCall(
  state: SessionState,
  toolCallId: string,
  { kind }: PreparedRequest,
): Interaction | undefined {
  return pendingOf(state).findLast((item) => item.toolCallId === toolCallId && item.kind === kind.kind)
}

function attach(state: SessionState, existing: Interaction, context: Context): Decision {
  const { interactionId } = existing
  if (existing.status === 'pending' && expired(existing, context.now)) return lapse(state, existing, context)
  return { events: [], interactionId }
}

function giveWay(state: SessionState, item: Interaction, supersededBy: string, context: Context): Part {
  if (expired(item, context.now)) return lapse(state, item, context)
  return { events: settlement(item, { settlement: 'superseded', supersededBy }, context) }
}

/** A default answer must be able to do at the deadline what it says. */
function checkDeclaredRule(state: SessionState, item: Interaction, context: Context): void {
  if (typeof item.onTimeout === 'object') storedRule(state, item, item.onTimeout.answer, {}, context)
}

function checkRoom(state: SessionState, { maxPending }: Context): void {
  if (state.pendingIds.size < maxPending) return
  throw new AskbackError(
    'rate_limited',
    `This session already waits for ${state.pendingIds.size} answers, which is its limit. Answer or cancel some first.`,
  )
}

function interactionFrom(
  state: SessionState,
  command: OpenCommand,
  { turnId, responseId, toolCallId, anchor: how }: Anchored,
  context: Context,
): Interaction {
  const { kind, toolName, request: body, digest, timeoutMs, onTimeout } = command.prepared
  const item: Interaction = {
    interactionId: context.newId(),
    sessionId: state.sessionId,
    toolCallId,
    toolName,
    kind: kind.kind,
    presentation: kind.presentation,
    request: body,
    digest,
    status: 'pending',
    requestedAt: context.now,
    onTimeout,
    anchor: how,
  }
  if (timeoutMs !== null) item.expiresAt = context.now + timeoutMs
  if (command.agentId !== undefined) item.agentId = command.agentId
  if (command.openedBy !== undefined) item.openedBy = command.openedBy
  if (command.source !== undefined) item.source = command.source
  if (turnId !== undefined) item.turnId = turnId
  if (responseId !== undefined) item.responseId = responseId
  return item
}

function approvedByPolicy(item: Interaction, { claimAs }: OpenCommand, context: Context): NewEvent[] {
  const how = { settlement: 'approved', answer: { decision: 'approve' }, via: 'policy' } as const
  const claim = claimAs === undefined ? [] : [delivered(item, claimAs)]
  return [...settlement(item, how, context), ...claim]
}

function allowed(state: SessionState, { kind }: PreparedRequest, context: Context): boolean {
  const subject = { kind: kind.kind, edit: context.edit ?? 'none', rule: context.rule ?? false } as const
  return judge({ mode: state.permissionMode, subject }) === 'allow'
}
