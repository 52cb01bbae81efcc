import type { EventOf } from './events.js'
import type { Actor, Interaction } from './interaction.js'
import type { Json } from './json.js'
import type { PermissionMode, Session, SessionStatus, SessionTags } from './session.js'

/** Increased when `reduce` makes something else of old events, so that snapshots stored by an older version are not used. */
export const STATE_VERSION = 6

/**
 * How long after its end a tool call can still be matched by the rendezvous: its script may outlive it by a little.
 *
 * @internal
 */
export const CALL_FORGOTTEN_MS = 30_000

/** A tool call, as the state of a session has it. */
export interface ToolCall {
  toolCallId: string
  toolName: string
  input: Json
  at: number
  turnId?: string
  responseId?: string
  parentToolCallId?: string
  source?: NonNullable<EventOf<'tool_call'>['source']>
  partial?: boolean
  result?: {
    output: Json
    isError: boolean
    at: number
    truncated?: number
    settledBy?: NonNullable<EventOf<'tool_result'>['settledBy']>
  }
}

/** One entry of a turn. Tool calls and interactions are named by id; the state holds each of them once. */
export type TurnItem =
  | { type: 'user_message'; id: string; at: number; text: string; by: Actor }
  | {
      type: 'text' | 'thinking'
      id: string
      at: number
      text: string
      responseId?: string
      partial?: boolean
    }
  | { type: 'tool_call'; toolCallId: string; responseId?: string }
  | { type: 'interaction'; interactionId: string; responseId?: string }
  | { type: 'error'; id: string; at: number; code: string; message: string; fatal: boolean }
  | { type: 'context_cleared'; id: string; at: number }

/** A turn, with what happened in it. */
export interface Turn {
  /** Its `turnId`; if it has none, the id of the event that began it. */
  key: string
  /** `null` for a container of items that belong to no turn. */
  turnId: string | null
  startedAt: number
  endedAt?: number
  reason?: EventOf<'turn_ended'>['reason']
  cause?: NonNullable<EventOf<'turn_ended'>['cause']>
  usage?: NonNullable<EventOf<'turn_ended'>['usage']>
  items: TurnItem[]
}

/**
 * What the events of a session fold to. It holds a window of the session: the open turn and the last twenty, whatever is
 * pending, and the tool calls that a request may still refer to. Older turns leave the window and stay in the log.
 */
export interface SessionState {
  sessionId: string
  /** Identifies the log: a session that was deleted and created again under the same id has another one. */
  logId: string
  /** The position of the last event. */
  seq: number
  agent: string | null
  title: string | null
  cwd: string | null
  /** As in `session_started`. */
  realCwd?: string | null
  model: string | null
  source: string | null
  /** Missing if the session has none. */
  tags?: SessionTags
  permissionMode: PermissionMode
  /** Whether the agent acts without asking a person, by its last notice about that. Missing if it asks. */
  decidesAlone?: true
  status: SessionStatus
  createdAt: number
  agentSessionId: string | null
  activeTurnId: string | null
  failed: boolean
  ended: boolean
  /** Whether turns have left the window. Until then, what is not in the state does not exist. */
  trimmed: boolean
  turns: Turn[]
  /** The calls of these turns, and older ones that still run or ended less than `CALL_FORGOTTEN_MS` ago. */
  toolCalls: ReadonlyMap<string, ToolCall>
  /** The interactions of these turns, and all that are pending, in the order they were opened. */
  interactions: ReadonlyMap<string, Interaction>
  /** What `interaction_pending` says is pending (L2). Between that event and its request there is no interaction yet. */
  pendingIds: ReadonlySet<string>
  /**
   * A superseded interaction that is still pending. Its `interaction_pending: false` comes next. Logs from before L2 lack
   * that event: there, the `interaction_pending: true` of its successor closes it.
   */
  supersededId: string | null
  /** Pending interactions whose turn has left the window. */
  pendingOutsideWindow: ReadonlySet<string>
  /** Tool calls whose turn has left the window. */
  callsOutsideWindow: ReadonlySet<string>
}

/** The state as JSON: the body of a snapshot. */
export interface SessionStateJson extends Omit<
  SessionState,
  'toolCalls' | 'interactions' | 'pendingIds' | 'pendingOutsideWindow' | 'callsOutsideWindow'
> {
  version: number
  toolCalls: ToolCall[]
  /** The settled ones of the window. */
  interactions: Interaction[]
  /** Oldest first. */
  pending: Interaction[]
  /** Ids that are pending and whose request is the next event. Empty except in the middle of an append. */
  opening: string[]
}

/**
 * Shared by all states that have no such entries, which are most: it saves memory where there are many sessions. A fold
 * copies before it writes to one of these (see `Draft`).
 */
export const NO_TOOL_CALLS: ReadonlyMap<string, ToolCall> = new Map()
export const NO_IDS: ReadonlySet<string> = new Set()

/** The state before the first event. */
export function emptyState(sessionId: string): SessionState {
  return {
    sessionId,
    logId: '',
    seq: 0,
    agent: null,
    title: null,
    cwd: null,
    model: null,
    source: null,
    permissionMode: 'default',
    status: 'idle',
    createdAt: 0,
    agentSessionId: null,
    activeTurnId: null,
    failed: false,
    ended: false,
    trimmed: false,
    turns: [],
    toolCalls: NO_TOOL_CALLS,
    interactions: new Map(),
    pendingIds: NO_IDS,
    supersededId: null,
    pendingOutsideWindow: NO_IDS,
    callsOutsideWindow: NO_IDS,
  }
}

/** Writes a state as JSON. */
export function stateToJson(state: SessionState): SessionStateJson {
  const {
    toolCalls,
    interactions,
    pendingIds,
    pendingOutsideWindow: _pending,
    callsOutsideWindow: _calls,
    ...rest
  } = state
  return {
    ...rest,
    turns: copyTurns(rest.turns),
    version: STATE_VERSION,
    toolCalls: [...toolCalls.values()],
    interactions: [...interactions.values()].filter((item) => item.status === 'settled'),
    pending: pendingOf(state),
    opening: [...pendingIds].filter((id) => interactions.get(id)?.status !== 'pending'),
  }
}

/** Reads a state from JSON. */
export function stateFromJson(json: SessionStateJson): SessionState {
  const { version: _, toolCalls, interactions, pending, opening, ...rest } = json
  // In the order of their requests, as in a state folded from the whole log: the latest of a tool call must stay the latest.
  const inOrder = [...interactions, ...pending].sort((a, b) => (a.seq ?? 0) - (b.seq ?? 0))
  const pendingIds = pending.map((item) => item.interactionId)
  const pendingOutsideWindow = new Set(pendingIds)
  const callsOutsideWindow = new Set(toolCalls.map((call) => call.toolCallId))
  for (const turn of rest.turns) {
    for (const item of turn.items) {
      if (item.type === 'interaction') pendingOutsideWindow.delete(item.interactionId)
      if (item.type === 'tool_call') callsOutsideWindow.delete(item.toolCallId)
    }
  }
  return {
    ...rest,
    turns: copyTurns(rest.turns),
    toolCalls: new Map(toolCalls.map((call) => [call.toolCallId, call])),
    interactions: new Map(inOrder.map((item) => [item.interactionId, item])),
    pendingIds: new Set([...pendingIds, ...opening]),
    pendingOutsideWindow,
    callsOutsideWindow,
  }
}

/** `foldInto` changes turns in place, and a state that was stored or sent must not change with them. Other parts it replaces. */
function copyTurns(turns: Turn[]): Turn[] {
  return turns.map((turn) => ({ ...turn, items: [...turn.items] }))
}

/** The pending interactions, oldest first. */
export function pendingOf({ interactions }: SessionState): Interaction[] {
  return [...interactions.values()].filter((item) => item.status === 'pending')
}

/** The session as lists show it. */
export function sessionOf(state: SessionState): Session {
  const { sessionId: id, agent, title, cwd, status, permissionMode, createdAt, tags, decidesAlone } = state
  const optional = { ...(tags && { tags }), ...(decidesAlone && { decidesAlone }) }
  return { id, agent, title, cwd, status, permissionMode, createdAt, ...optional }
}
