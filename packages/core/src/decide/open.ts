import {
  AskbackError,
  latestSameRequest,
  pendingOf,
  type Interaction,
  type SessionState,
} from '@askback/protocol'
import {
  mergeParts,
  type Context,
  type Decision,
  type OpenCommand,
  type PartialDecision,
  type PreparedRequest,
} from './command.js'
import { deliveredEvent, requestEvents, settleEvents } from './interaction-events.js'
import { decidePermission } from './permissions.js'
import { chooseCall } from './rendezvous.js'
import { isExpired, requestedRule, settleByDeadline } from './settle.js'

export function open(state: SessionState, command: OpenCommand, context: Context): Decision {
  const { prepared, agentThread } = command
  if (agentThread !== undefined && state.agentSessionId !== null && agentThread !== state.agentSessionId) {
    throw new AskbackError('ambiguous', 'The agent that asks is not the one of this session.')
  }
  const anchored = anchor(state, command, context)
  if (anchored === 'wait') return { events: [], wait: true }
  const { toolCallId } = anchored
  const existing = command.attach ? sameRequest(state, toolCallId, prepared, context) : undefined
  if (existing) return attach(state, existing, context)
  const replaced = command.attach ? pendingOfCall(state, toolCallId, prepared) : undefined
  const item = createInteraction(state, command, anchored, context)
  checkDeclaredRule(state, item, context)
  const isAllowed = allowsWithoutPerson(state, prepared, context)
  if (!isAllowed && !replaced) checkPendingLimit(state, context)
  const { interactionId } = item
  if (!replaced && !isAllowed) return { events: requestEvents(item), interactionId }
  const parts: PartialDecision[] = []
  if (replaced) parts.push(supersede(state, replaced, interactionId, context))
  parts.push({ events: requestEvents(item) })
  if (isAllowed) parts.push(approveByPolicy(item, command, context))
  return { ...mergeParts(...parts), interactionId }
}

/** The tool call of an interaction, and how it was found. */
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

/** L11: the interaction that an adapter attaches to when it repeats a request of its tool call. A superseded one never counts. */
function sameRequest(
  state: SessionState,
  toolCallId: string,
  { kind, digest }: PreparedRequest,
  context: Context,
): Interaction | undefined {
  const request = { toolCallId, kind: kind.kind, digest }
  return latestSameRequest(state.interactions.values(), request) ?? context.found
}

/** L11: the interaction that is superseded when the same call asks for something else. */
function pendingOfCall(
  state: SessionState,
  toolCallId: string,
  { kind }: PreparedRequest,
): Interaction | undefined {
  return pendingOf(state).findLast((item) => item.toolCallId === toolCallId && item.kind === kind.kind)
}

function attach(state: SessionState, existing: Interaction, context: Context): Decision {
  const { interactionId } = existing
  if (existing.status === 'pending' && isExpired(existing, context.now))
    return settleByDeadline(state, existing, context)
  return { events: [], interactionId }
}

function supersede(
  state: SessionState,
  item: Interaction,
  supersededBy: string,
  context: Context,
): PartialDecision {
  if (isExpired(item, context.now)) return settleByDeadline(state, item, context)
  return settleEvents(item, { settlement: 'superseded', supersededBy }, context)
}

/** If the answer declared for the deadline asks for a rule, that rule must be possible; otherwise opening is refused now. */
function checkDeclaredRule(state: SessionState, item: Interaction, context: Context): void {
  if (typeof item.onTimeout === 'object') requestedRule(state, item, item.onTimeout.answer, {}, context)
}

function checkPendingLimit(state: SessionState, { maxPending }: Context): void {
  if (state.pendingIds.size < maxPending) return
  throw new AskbackError(
    'rate_limited',
    `This session already waits for ${state.pendingIds.size} answers, which is its limit. Answer or cancel some first.`,
  )
}

function createInteraction(
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
  if (command.notes !== undefined) item.notes = command.notes
  if (turnId !== undefined) item.turnId = turnId
  if (responseId !== undefined) item.responseId = responseId
  return item
}

function approveByPolicy(item: Interaction, { claimAs }: OpenCommand, context: Context): PartialDecision {
  const how = { settlement: 'approved', answer: { decision: 'approve' }, via: 'policy' } as const
  const settled = settleEvents(item, how, context)
  if (claimAs !== undefined) settled.events.push(deliveredEvent(item, claimAs))
  return settled
}

/** Whether the permission mode or a stored rule approves this without asking a person. */
function allowsWithoutPerson(state: SessionState, { kind }: PreparedRequest, context: Context): boolean {
  const subject = { kind: kind.kind, edit: context.edit ?? 'none', rule: context.rule ?? false } as const
  return decidePermission({ mode: state.permissionMode, subject }) === 'allow'
}
