import { Draft } from './draft.js'
import type { EventOf, SessionEvent } from './events.js'
import type { Interaction } from './interaction.js'
import {
  closeInteraction,
  deliverInteraction,
  openInteraction,
  progressInteraction,
  respondToInteraction,
} from './lifecycle.js'
import { statusOf } from './session.js'
import { CALL_FORGOTTEN_MS, type Item, type SessionState, type ToolCall } from './state.js'

/** The open turn and twenty before it. */
const TURNS_KEPT = 21
/** Items without a turn share one of these containers, so that a session that has no turns stays bounded too. */
const ITEMS_WITHOUT_TURN = 10
/** Of those whose turn has left: one that is never told to have ended must not stay for ever. */
const CALLS_ADRIFT = 50

/** Pure and idempotent by `seq`: an event that is not the next one changes nothing. */
export function reduce(state: SessionState, event: SessionEvent): SessionState {
  return fold(state, [event])
}

/**
 * The same over many events, linear in their number: what it touches is copied once. Whoever shows more of the past than a
 * snapshot holds keeps more turns.
 */
export function fold(
  state: SessionState,
  events: Iterable<SessionEvent>,
  { turnsKept = TURNS_KEPT }: { turnsKept?: number } = {},
): SessionState {
  const draft = new Draft(state, new Set(), turnsKept)
  for (const event of events) if (event.seq === draft.state.seq + 1) apply(draft, event)
  return draft.state
}

/** The same for the state's only owner: changes it in place. */
export function foldInto(state: SessionState, events: Iterable<SessionEvent>): void {
  const draft = new Draft(state, null, TURNS_KEPT)
  for (const event of events) if (event.seq === state.seq + 1) apply(draft, event)
}

function apply(draft: Draft, event: SessionEvent): void {
  const { state } = draft
  state.seq = event.seq
  switch (event.type) {
    case 'session_started':
      state.logId = event.id
      state.createdAt = event.at
      state.agent = event.agent
      state.title = event.title ?? null
      state.cwd = event.cwd ?? null
      if (event.realCwd !== undefined) state.realCwd = event.realCwd
      state.model = event.model ?? null
      state.source = event.source ?? null
      state.permissionMode = event.permissionMode
      break
    case 'user_message':
      place(draft, event, {
        type: 'user_message',
        id: event.id,
        at: event.at,
        text: event.text,
        by: event.by,
      })
      break
    case 'turn_started':
      turnFor(draft, event)
      state.activeTurnId = event.turnId
      state.failed = false
      break
    case 'turn_ended': {
      const index = state.turns.findLastIndex((turn) => turn.turnId === event.turnId)
      const { at: endedAt, reason, cause, usage } = event
      if (index >= 0)
        Object.assign(draft.turn(index), {
          endedAt,
          reason,
          ...(cause && { cause }),
          ...(usage && { usage }),
        })
      if (state.activeTurnId === event.turnId) state.activeTurnId = null
      break
    }
    case 'text':
    case 'thinking': {
      const { type, blockId, at, text, partial } = event
      place(draft, event, { type, id: blockId, at, text, ...response(event), ...(partial && { partial }) })
      break
    }
    case 'tool_call':
      if (state.toolCalls.has(event.toolCallId)) break
      draft.toolCalls().set(event.toolCallId, toolCallOf(event))
      place(draft, event, { type: 'tool_call', toolCallId: event.toolCallId, ...response(event) })
      break
    case 'tool_result': {
      const call = state.toolCalls.get(event.toolCallId)
      if (!call || call.result) break
      const { output, isError, at, truncated, settledBy } = event
      const ended = toolCallOf(call)
      ended.result = { output, isError, at }
      if (truncated !== undefined) ended.result.truncated = truncated
      if (settledBy !== undefined) ended.result.settledBy = settledBy
      draft.toolCalls().set(event.toolCallId, ended)
      break
    }
    case 'interaction_pending':
      if (event.pending) {
        if (state.supersededId !== null) close(draft, state.supersededId)
        draft.pendingIds().add(event.interactionId)
      } else close(draft, event.interactionId)
      break
    case 'interaction_request':
      open(draft, event)
      place(draft, event, { type: 'interaction', interactionId: event.interactionId, ...response(event) })
      break
    case 'interaction_progress':
      change(draft, event.interactionId, (item) => progressInteraction(item, event))
      break
    case 'interaction_response':
      respond(draft, event)
      break
    case 'interaction_delivered':
      change(draft, event.interactionId, deliverInteraction)
      break
    case 'session_status':
      state.permissionMode = event.permissionMode
      state.ended = event.status === 'ended'
      break
    case 'agent_session':
      state.agentSessionId = event.agentSessionId
      break
    case 'context_cleared':
      state.agentSessionId = null
      place(draft, event, { type: 'context_cleared', id: event.id, at: event.at })
      break
    case 'error': {
      const { id, at, code, message, fatal } = event
      if (fatal) state.failed = true
      place(draft, event, { type: 'error', id, at, code, message, fatal })
      break
    }
    default:
      event satisfies never
  }
  state.status = statusOf({
    agent: state.agent,
    turnActive: state.activeTurnId !== null,
    pending: state.pendingIds.size,
    failed: state.failed,
    ended: state.ended,
  })
}

function change(draft: Draft, interactionId: string, next: (item: Interaction) => Interaction): void {
  const item = draft.state.interactions.get(interactionId)
  if (item) draft.interactions().set(interactionId, next(item))
}

/** No desk asks twice under one id. Who did would have asked once, and just now. */
function open(draft: Draft, event: EventOf<'interaction_request'>): void {
  const { interactionId } = event
  const { state } = draft
  const interactions = draft.interactions()
  if (interactions.delete(interactionId) && state.adrift.has(interactionId))
    draft.adrift().delete(interactionId)
  interactions.set(interactionId, openInteraction(event, state.pendingIds.has(interactionId)))
}

/** L3: the first response counts. */
function respond(draft: Draft, event: EventOf<'interaction_response'>): void {
  const { interactionId, settlement } = event
  const item = draft.state.interactions.get(interactionId)
  if (!item || item.settlement !== undefined) return
  draft.interactions().set(interactionId, respondToInteraction(item, event))
  if (settlement === 'superseded') draft.state.supersededId = interactionId
}

/** L2: it is pending no longer. What has left the window was only there because it was pending. */
function close(draft: Draft, interactionId: string): void {
  const { state } = draft
  if (state.supersededId === interactionId) state.supersededId = null
  if (!state.pendingIds.has(interactionId)) return
  draft.pendingIds().delete(interactionId)
  if (!state.adrift.has(interactionId)) {
    change(draft, interactionId, closeInteraction)
    return
  }
  draft.adrift().delete(interactionId)
  draft.interactions().delete(interactionId)
}

function place(draft: Draft, event: SessionEvent, item: Item): void {
  draft.place(turnFor(draft, event), item)
}

/** The index of the turn that an event belongs to: the one it names, the open one, or a container made for it. */
function turnFor(draft: Draft, event: SessionEvent): number {
  const { turns, activeTurnId } = draft.state
  const turnId = event.turnId ?? activeTurnId
  if (turnId !== null) {
    const index = turns.findLastIndex((turn) => turn.turnId === turnId)
    if (index >= 0) return index
  } else if (event.type !== 'user_message') {
    const last = turns.at(-1)
    if (last?.turnId === null && last.items.length < ITEMS_WITHOUT_TURN) return turns.length - 1
  }
  draft.begin({ key: turnId ?? event.id, turnId, startedAt: event.at, items: [] })
  trim(draft, event.at)
  return draft.state.turns.length - 1
}

function trim(draft: Draft, at: number): void {
  const { state } = draft
  if (state.turns.length <= draft.turnsKept) return
  while (state.turns.length > draft.turnsKept) {
    const index = state.turns.findIndex((turn) => turn.turnId === null || turn.turnId !== state.activeTurnId)
    const [dropped] = draft.turns().splice(index, 1)
    state.trimmed = true
    for (const item of dropped!.items) {
      if (item.type === 'tool_call') {
        const call = state.toolCalls.get(item.toolCallId)
        const isCut = !call?.result && dropped!.endedAt !== undefined
        if (isCut || isForgotten(call, at)) draft.toolCalls().delete(item.toolCallId)
        else draft.callsAdrift().add(item.toolCallId)
      }
      if (item.type !== 'interaction') continue
      if (state.interactions.get(item.interactionId)?.status === 'pending')
        draft.adrift().add(item.interactionId)
      else draft.interactions().delete(item.interactionId)
    }
  }
  trimCalls(draft, at)
}

function isForgotten(call: ToolCall | undefined, at: number): boolean {
  return call?.result !== undefined && at - call.result.at >= CALL_FORGOTTEN_MS
}

/** Those whose turn has left, for as long as a request may come that belongs to them. */
function trimCalls(draft: Draft, at: number): void {
  const { state } = draft
  const forget = (toolCallId: string) => {
    draft.toolCalls().delete(toolCallId)
    draft.callsAdrift().delete(toolCallId)
  }
  for (const id of state.callsAdrift) if (isForgotten(state.toolCalls.get(id), at)) forget(id)
  if (state.callsAdrift.size <= CALLS_ADRIFT) return
  const inOrder = [...state.toolCalls.keys()].filter((id) => state.callsAdrift.has(id))
  inOrder.slice(0, -CALLS_ADRIFT).forEach(forget)
}

function toolCallOf(from: ToolCall | EventOf<'tool_call'>): ToolCall {
  const { toolCallId, toolName, input, at } = from
  const call: ToolCall = { toolCallId, toolName, input, at }
  if (from.turnId !== undefined) call.turnId = from.turnId
  if (from.responseId !== undefined) call.responseId = from.responseId
  if (from.parentToolCallId !== undefined) call.parentToolCallId = from.parentToolCallId
  if (from.source !== undefined) call.source = from.source
  if (from.partial) call.partial = from.partial
  return call
}

function response(event: SessionEvent): { responseId?: string } {
  return event.responseId === undefined ? {} : { responseId: event.responseId }
}
