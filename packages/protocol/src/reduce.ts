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
import { statusOf, type SessionTags } from './session.js'
import { CALL_FORGOTTEN_MS, type SessionState, type ToolCall, type TurnItem } from './state.js'

/** Code of the notice that the agent acts without asking a person. */
export const AGENT_DECIDES = 'agent_decides'
/** Code of the notice that the agent asks a person again. */
export const AGENT_ASKS = 'agent_asks'

/** The window: the open turn and twenty before it. */
const MAX_TURNS = 21
/** Items that belong to no turn share a container of at most this many, so that a session without turns is bounded, too. */
const MAX_ITEMS_WITHOUT_TURN = 10
/** How many tool calls outside the window are remembered: one whose end is never reported must not stay for ever. */
const MAX_CALLS_OUTSIDE_WINDOW = 50

/**
 * The state after one more event. Server and clients use the same function, so that live and replayed events come to the
 * same state. It is pure, and idempotent by `seq`: an event that is not the next one changes nothing.
 *
 * @example
 * const state = events.reduce(reduce, emptyState('s1'))
 */
export function reduce(state: SessionState, event: SessionEvent): SessionState {
  return fold(state, [event])
}

/**
 * `reduce` over many events, in linear time: each part of the state that changes is copied once.
 *
 * @param options.turnsKept - how many turns stay in the window; a client that shows older turns keeps more of them.
 *   Defaults to 21, the open turn and the twenty before it
 */
export function fold(
  state: SessionState,
  events: Iterable<SessionEvent>,
  { turnsKept = MAX_TURNS }: { turnsKept?: number } = {},
): SessionState {
  const draft = new Draft(state, new Set(), turnsKept)
  for (const event of events) if (event.seq === draft.state.seq + 1) apply(draft, event)
  return draft.state
}

/**
 * `fold` for the only owner of a state: changes it in place.
 *
 * @internal
 */
export function foldInto(state: SessionState, events: Iterable<SessionEvent>): void {
  const draft = new Draft(state, null, MAX_TURNS)
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
      setTags(state, event.tags)
      break
    case 'session_tags':
      setTags(state, event.tags)
      break
    case 'user_message':
      addItem(draft, event, {
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
      addItem(draft, event, {
        type,
        id: blockId,
        at,
        text,
        ...responseIdOf(event),
        ...(partial && { partial }),
      })
      break
    }
    case 'tool_call':
      if (state.toolCalls.has(event.toolCallId)) break
      draft.toolCalls().set(event.toolCallId, toolCallOf(event))
      addItem(draft, event, { type: 'tool_call', toolCallId: event.toolCallId, ...responseIdOf(event) })
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
      addItem(draft, event, {
        type: 'interaction',
        interactionId: event.interactionId,
        ...responseIdOf(event),
      })
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
      addItem(draft, event, { type: 'context_cleared', id: event.id, at: event.at })
      break
    case 'error': {
      const { id, at, code, message, fatal } = event
      if (fatal) state.failed = true
      if (code === AGENT_DECIDES) state.decidesAlone = true
      else if (code === AGENT_ASKS) delete state.decidesAlone
      addItem(draft, event, { type: 'error', id, at, code, message, fatal })
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

/** A desk never opens two interactions under one id. If a log has that anyway, the later request replaces the earlier one. */
function open(draft: Draft, event: EventOf<'interaction_request'>): void {
  const { interactionId } = event
  const { state } = draft
  const interactions = draft.interactions()
  if (interactions.delete(interactionId) && state.pendingOutsideWindow.has(interactionId))
    draft.pendingOutsideWindow().delete(interactionId)
  interactions.set(interactionId, openInteraction(event, state.pendingIds.has(interactionId)))
}

/** The first response counts (L3). */
function respond(draft: Draft, event: EventOf<'interaction_response'>): void {
  const { interactionId, settlement } = event
  const item = draft.state.interactions.get(interactionId)
  if (!item || item.settlement !== undefined) return
  draft.interactions().set(interactionId, respondToInteraction(item, event))
  if (settlement === 'superseded') draft.state.supersededId = interactionId
}

/** The interaction is no longer pending (L2). Outside the window it was only kept because it was pending, so it is removed. */
function close(draft: Draft, interactionId: string): void {
  const { state } = draft
  if (state.supersededId === interactionId) state.supersededId = null
  if (!state.pendingIds.has(interactionId)) return
  draft.pendingIds().delete(interactionId)
  if (!state.pendingOutsideWindow.has(interactionId)) {
    change(draft, interactionId, closeInteraction)
    return
  }
  draft.pendingOutsideWindow().delete(interactionId)
  draft.interactions().delete(interactionId)
}

function addItem(draft: Draft, event: SessionEvent, item: TurnItem): void {
  draft.addItem(turnFor(draft, event), item)
}

/** The index of the turn that an event belongs to: the one it names, the open one, or a new container without a turn. */
function turnFor(draft: Draft, event: SessionEvent): number {
  const { turns, activeTurnId } = draft.state
  const turnId = event.turnId ?? activeTurnId
  if (turnId !== null) {
    const index = turns.findLastIndex((turn) => turn.turnId === turnId)
    if (index >= 0) return index
  } else if (event.type !== 'user_message') {
    const last = turns.at(-1)
    if (last?.turnId === null && last.items.length < MAX_ITEMS_WITHOUT_TURN) return turns.length - 1
  }
  draft.addTurn({ key: turnId ?? event.id, turnId, startedAt: event.at, items: [] })
  trimWindow(draft, event.at)
  return draft.state.turns.length - 1
}

/** Removes the oldest turns that are too many, but never the open one, with what only belongs to them. */
function trimWindow(draft: Draft, at: number): void {
  const { state } = draft
  if (state.turns.length <= draft.maxTurns) return
  while (state.turns.length > draft.maxTurns) {
    const index = state.turns.findIndex((turn) => turn.turnId === null || turn.turnId !== state.activeTurnId)
    const [dropped] = draft.turns().splice(index, 1)
    state.trimmed = true
    for (const item of dropped!.items) {
      if (item.type === 'tool_call') {
        const call = state.toolCalls.get(item.toolCallId)
        // A call without a result in a turn that has ended was interrupted: nothing will be reported about it.
        const wasInterrupted = !call?.result && dropped!.endedAt !== undefined
        if (wasInterrupted || isForgotten(call, at)) draft.toolCalls().delete(item.toolCallId)
        else draft.callsOutsideWindow().add(item.toolCallId)
      }
      if (item.type !== 'interaction') continue
      if (state.interactions.get(item.interactionId)?.status === 'pending')
        draft.pendingOutsideWindow().add(item.interactionId)
      else draft.interactions().delete(item.interactionId)
    }
  }
  trimCallsOutsideWindow(draft, at)
}

function isForgotten(call: ToolCall | undefined, at: number): boolean {
  return call?.result !== undefined && at - call.result.at >= CALL_FORGOTTEN_MS
}

/** A call outside the window stays for as long as a request may still refer to it. */
function trimCallsOutsideWindow(draft: Draft, at: number): void {
  const { state } = draft
  const forget = (toolCallId: string) => {
    draft.toolCalls().delete(toolCallId)
    draft.callsOutsideWindow().delete(toolCallId)
  }
  for (const id of state.callsOutsideWindow) if (isForgotten(state.toolCalls.get(id), at)) forget(id)
  if (state.callsOutsideWindow.size <= MAX_CALLS_OUTSIDE_WINDOW) return
  const inOrder = [...state.toolCalls.keys()].filter((id) => state.callsOutsideWindow.has(id))
  inOrder.slice(0, -MAX_CALLS_OUTSIDE_WINDOW).forEach(forget)
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

function responseIdOf(event: SessionEvent): { responseId?: string } {
  return event.responseId === undefined ? {} : { responseId: event.responseId }
}

/** A session without tags has no such field, like one from before there were tags. */
function setTags(state: SessionState, tags: SessionTags = {}): void {
  if (Object.keys(tags).length > 0) state.tags = tags
  else if (state.tags) delete state.tags
}
