import type { EventOf } from './events.js'
import type { Actor, Interaction } from './interaction.js'
import type { Json } from './json.js'
import { NO_TOOL_CALLS, NO_IDS } from './nothing.js'
import type { PermissionMode, Session, SessionStatus } from './session.js'

/** Bumped when `reduce` changes what it makes of old events, so that stored snapshots of an older make are not used. */
export const STATE_VERSION = 5

/** How long a call that has ended can still be matched: its script may have outlived it a little. */
export const CALL_FORGOTTEN_MS = 30_000

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

export type Item =
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

export interface Turn {
  /** Its `turnId`, or the id of the event that began it where there is none. */
  key: string
  turnId: string | null
  startedAt: number
  endedAt?: number
  reason?: EventOf<'turn_ended'>['reason']
  cause?: NonNullable<EventOf<'turn_ended'>['cause']>
  usage?: NonNullable<EventOf<'turn_ended'>['usage']>
  items: Item[]
}

export interface SessionState {
  sessionId: string
  /** Names this log: a session made anew under an old id has another. */
  logId: string
  seq: number
  agent: string | null
  title: string | null
  cwd: string | null
  /** As in `session_started`. */
  realCwd?: string | null
  model: string | null
  source: string | null
  permissionMode: PermissionMode
  status: SessionStatus
  createdAt: number
  agentSessionId: string | null
  activeTurnId: string | null
  failed: boolean
  ended: boolean
  /** Whether turns have left the window: until then, what is not here does not exist. */
  trimmed: boolean
  /** The open turn and the last twenty. */
  turns: Turn[]
  /** Those of the turns above, and the latest older ones that still run or have ended just now. */
  toolCalls: ReadonlyMap<string, ToolCall>
  /** Those of the turns above, and all that are pending, in the order they were asked. */
  interactions: ReadonlyMap<string, Interaction>
  /** What `interaction_pending` says is pending (L2). One that is just being opened has no interaction yet. */
  pendingIds: ReadonlySet<string>
  /**
   * A superseded interaction that is still pending. Its `interaction_pending: false` comes next; logs from before L2 asked
   * for that have none, and go on with the `interaction_pending: true` of its successor.
   */
  supersededId: string | null
  /** Pending ones whose turn has left the window. */
  adrift: ReadonlySet<string>
  /** Tool calls whose turn has left the window. */
  callsAdrift: ReadonlySet<string>
}

export interface SessionStateJson extends Omit<
  SessionState,
  'toolCalls' | 'interactions' | 'pendingIds' | 'adrift' | 'callsAdrift'
> {
  version: number
  toolCalls: ToolCall[]
  /** The settled ones of the window. */
  interactions: Interaction[]
  /** Oldest first. */
  pending: Interaction[]
  /** The ids of those that are pending and whose request is the next event. Empty but in the middle of an append. */
  opening: string[]
}

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
    adrift: NO_IDS,
    callsAdrift: NO_IDS,
  }
}

export function stateToJson(state: SessionState): SessionStateJson {
  const { toolCalls, interactions, pendingIds, adrift: _adrift, callsAdrift: _calls, ...rest } = state
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

export function stateFromJson(json: SessionStateJson): SessionState {
  const { version: _, toolCalls, interactions, pending, opening, ...rest } = json
  // In the order they were asked, as the whole log would have it: the latest of a tool call must stay the latest.
  const asked = [...interactions, ...pending].sort((a, b) => (a.seq ?? 0) - (b.seq ?? 0))
  const pendingIds = pending.map((item) => item.interactionId)
  const adrift = new Set(pendingIds)
  const callsAdrift = new Set(toolCalls.map((call) => call.toolCallId))
  for (const turn of rest.turns) {
    for (const item of turn.items) {
      if (item.type === 'interaction') adrift.delete(item.interactionId)
      if (item.type === 'tool_call') callsAdrift.delete(item.toolCallId)
    }
  }
  return {
    ...rest,
    turns: copyTurns(rest.turns),
    toolCalls: new Map(toolCalls.map((call) => [call.toolCallId, call])),
    interactions: new Map(asked.map((item) => [item.interactionId, item])),
    pendingIds: new Set([...pendingIds, ...opening]),
    adrift,
    callsAdrift,
  }
}

/** `foldInto` writes to turns in place, which a state that was told or stored must not feel. All else it replaces. */
function copyTurns(turns: Turn[]): Turn[] {
  return turns.map((turn) => ({ ...turn, items: [...turn.items] }))
}

/** Oldest first. */
export function pendingOf({ interactions }: SessionState): Interaction[] {
  return [...interactions.values()].filter((item) => item.status === 'pending')
}

export function sessionOf(state: SessionState): Session {
  const { sessionId: id, agent, title, cwd, status, permissionMode, createdAt } = state
  return { id, agent, title, cwd, status, permissionMode, createdAt }
}
