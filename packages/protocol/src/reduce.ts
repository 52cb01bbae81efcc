import type { EventOf, SessionEvent } from './events.js'
import type { Interaction } from './interaction.js'
import { statusOf } from './session.js'
import type { Item, SessionState, ToolCall, Turn } from './state.js'

/** The open turn and twenty before it. */
const TURNS_KEPT = 21
/** Items without a turn share one of these containers, so that a session that has no turns stays bounded too. */
const ITEMS_WITHOUT_TURN = 50

/** Pure and idempotent by `seq`: an event that is not the next one changes nothing. */
export function reduce(state: SessionState, event: SessionEvent): SessionState {
  return fold(state, [event])
}

/** The same over many events, linear in their number: what it touches is copied once. */
export function fold(state: SessionState, events: Iterable<SessionEvent>): SessionState {
  const draft = new Draft(state, new Set())
  for (const event of events) if (event.seq === draft.state.seq + 1) apply(draft, event)
  return draft.state
}

/** The same for the state's only owner: changes it in place. */
export function foldInto(state: SessionState, events: Iterable<SessionEvent>): void {
  const draft = new Draft(state, null)
  for (const event of events) if (event.seq === state.seq + 1) apply(draft, event)
}

// Field by field, here and below: a rest pattern or a spread for each field costs more than the rest of the fold.
export function openInteraction(event: EventOf<'interaction_request'>): Interaction {
  const item: Interaction = {
    seq: event.seq,
    interactionId: event.interactionId,
    sessionId: event.sessionId,
    toolCallId: event.toolCallId,
    toolName: event.toolName,
    kind: event.kind,
    presentation: event.presentation,
    request: event.request,
    digest: event.digest,
    status: 'pending',
    requestedAt: event.requestedAt,
    onTimeout: event.onTimeout,
  }
  if (event.expiresAt !== undefined) item.expiresAt = event.expiresAt
  if (event.errors !== undefined) item.errors = event.errors
  if (event.progress !== undefined) item.progress = event.progress
  if (event.agentId !== undefined) item.agentId = event.agentId
  if (event.openedBy !== undefined) item.openedBy = event.openedBy
  if (event.anchor !== undefined) item.anchor = event.anchor
  if (event.turnId !== undefined) item.turnId = event.turnId
  if (event.responseId !== undefined) item.responseId = event.responseId
  return item
}

export function progressInteraction(item: Interaction, event: EventOf<'interaction_progress'>): Interaction {
  return { ...item, progress: event.answers }
}

export function settleInteraction(item: Interaction, event: EventOf<'interaction_response'>): Interaction {
  const settled: Interaction = {
    ...item,
    status: 'settled',
    settlement: event.settlement,
    settledAt: event.at,
  }
  if (event.answer !== undefined) settled.answer = event.answer
  if (event.message !== undefined) settled.message = event.message
  if (event.by !== undefined) settled.by = event.by
  if (event.via !== undefined) settled.via = event.via
  if (event.updatedDigest !== undefined) settled.updatedDigest = event.updatedDigest
  if (event.supersededBy !== undefined) settled.supersededBy = event.supersededBy
  return settled
}

export function deliverInteraction(item: Interaction): Interaction {
  return { ...item, delivered: true }
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
      if (index >= 0) Object.assign(draft.turn(index), { endedAt: event.at, reason: event.reason })
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
      const { output, isError, at, truncated } = event
      const result = { output, isError, at, ...(truncated !== undefined && { truncated }) }
      draft.toolCalls().set(event.toolCallId, { ...call, result })
      break
    }
    case 'interaction_pending':
      if (!event.pending) draft.pending().delete(event.interactionId)
      break
    case 'interaction_request':
      draft.interactions().set(event.interactionId, openInteraction(event))
      draft.pending().add(event.interactionId)
      place(draft, event, { type: 'interaction', interactionId: event.interactionId, ...response(event) })
      break
    case 'interaction_progress':
      change(draft, event.interactionId, (item) => progressInteraction(item, event))
      break
    case 'interaction_response':
      change(draft, event.interactionId, (item) => settleInteraction(item, event))
      draft.pending().delete(event.interactionId)
      if (state.adrift.has(event.interactionId)) {
        draft.adrift().delete(event.interactionId)
        draft.interactions().delete(event.interactionId)
      }
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
    pending: state.pending.size,
    failed: state.failed,
    ended: state.ended,
  })
}

function change(draft: Draft, interactionId: string, next: (item: Interaction) => Interaction): void {
  const item = draft.state.interactions.get(interactionId)
  if (item) draft.interactions().set(interactionId, next(item))
}

function place(draft: Draft, event: SessionEvent, item: Item): void {
  draft.turn(turnFor(draft, event)).items.push(item)
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
  draft.turns().push({ key: turnId ?? event.id, turnId, startedAt: event.at, items: [] })
  trim(draft)
  return draft.state.turns.length - 1
}

function trim(draft: Draft): void {
  const { state } = draft
  while (state.turns.length > TURNS_KEPT) {
    const index = state.turns.findIndex((turn) => turn.turnId === null || turn.turnId !== state.activeTurnId)
    const [dropped] = draft.turns().splice(index, 1)
    state.trimmed = true
    for (const item of dropped!.items) {
      if (item.type === 'tool_call') draft.toolCalls().delete(item.toolCallId)
      if (item.type !== 'interaction') continue
      if (state.pending.has(item.interactionId)) draft.adrift().add(item.interactionId)
      else draft.interactions().delete(item.interactionId)
    }
  }
}

function toolCallOf(event: EventOf<'tool_call'>): ToolCall {
  const { toolCallId, toolName, input, at, turnId, parentToolCallId, source, partial } = event
  return {
    toolCallId,
    toolName,
    input,
    at,
    ...(turnId !== undefined && { turnId }),
    ...response(event),
    ...(parentToolCallId !== undefined && { parentToolCallId }),
    ...(source && { source }),
    ...(partial && { partial }),
  }
}

function response(event: SessionEvent): { responseId?: string } {
  return event.responseId === undefined ? {} : { responseId: event.responseId }
}

/** Copy on first write. Without a record of what is fresh it owns everything and writes in place. */
class Draft {
  readonly state: SessionState
  readonly #fresh: Set<object> | null

  constructor(state: SessionState, fresh: Set<object> | null) {
    this.state = fresh ? { ...state } : state
    this.#fresh = fresh
  }

  toolCalls() {
    return (this.state.toolCalls = this.#own(this.state.toolCalls, (map) => new Map(map)))
  }

  interactions() {
    return (this.state.interactions = this.#own(this.state.interactions, (map) => new Map(map)))
  }

  pending() {
    return (this.state.pending = this.#own(this.state.pending, (set) => new Set(set)))
  }

  adrift() {
    return (this.state.adrift = this.#own(this.state.adrift, (set) => new Set(set)))
  }

  turns() {
    return (this.state.turns = this.#own(this.state.turns, (turns) => [...turns]))
  }

  turn(index: number): Turn {
    const turns = this.turns()
    return (turns[index] = this.#own(turns[index]!, (turn) => ({ ...turn, items: [...turn.items] })))
  }

  #own<T extends object>(value: T, copy: (value: T) => T): T {
    if (!this.#fresh || this.#fresh.has(value)) return value
    const copied = copy(value)
    this.#fresh.add(copied)
    return copied
  }
}
