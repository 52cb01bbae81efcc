import type { Actor, Interaction, Json, ToolCall, Turn } from '@askback/protocol'

/** What is drawn of a session, as plain data: the same for live and replayed events. */
export interface Layout {
  turns: LaidTurn[]
  /** The agent works and nobody is asked. */
  typing: boolean
  /** Somebody is asked. */
  waiting: boolean
}

export interface LaidTurn extends Pick<Turn, 'turnId' | 'startedAt' | 'endedAt' | 'reason' | 'cause'> {
  key: string
  containers: Container[]
}

export type Container =
  | { type: 'user_message'; key: string; at: number; text: string; by: Actor }
  /** What one response of the agent holds; `responseId` is null where the agent has no such ids. */
  | { type: 'response'; key: string; responseId: string | null; blocks: Block[] }
  /** Calls and interactions that belong to no response, anchored to their tool call. */
  | { type: 'tool_call'; key: string; toolCallId: string; blocks: Block[] }
  | { type: 'error'; key: string; at: number; code: string; message: string; fatal: boolean }
  | { type: 'context_cleared'; key: string; at: number }

export type Block =
  | {
      type: 'text' | 'thinking'
      key: string
      text: string
      /** Still being written, or cut short. */
      state: 'streaming' | 'complete' | 'partial'
    }
  /** Consecutive calls that nobody was asked about: they may fold into one line. */
  | { type: 'tool_group'; key: string; calls: ToolBlock[] }
  /** A call that somebody is or was asked about, or that holds others: it never folds away. */
  | { type: 'tool'; key: string; call: ToolBlock }
  | Card

/** An interaction; with presentation `questionnaire` it stands alone, with `tool` it is part of its call's block. */
export interface Card {
  type: 'interaction'
  key: string
  interaction: Interaction
  /** Whether its controls take an answer. */
  open: boolean
  /** The reprompted ones that it took the place of, oldest first. */
  replaces: string[]
}

export type ToolStatus =
  /** Its input is being written. */
  | 'streaming'
  /** Waiting for input of a person. */
  | 'waiting'
  | 'running'
  /** Approved, and more is not known of it. */
  | 'approved'
  | 'done'
  | 'failed'
  | 'denied'
  /** A plan that was sent back for changes. */
  | 'adjusted'
  | 'timed_out'
  | 'cancelled'
  /** Its turn ended before it did. */
  | 'interrupted'

export interface ToolBlock {
  key: string
  toolCallId: string
  toolName: string
  input: Json
  /** The JSON text so far of an input that is being written. */
  partialInput?: string
  status: ToolStatus
  /** It, or a call inside it, waits for a person: it stays open. */
  waiting: boolean
  /** The log has an approval of this call but not the call. */
  placeholder: boolean
  /** Set where it did not come from the session's own agent. */
  source: string | null
  approvals: Card[]
  result?: NonNullable<ToolCall['result']>
  /** What the tool has put out so far. */
  liveOutput?: string
  /** Calls of the subagent that this call runs. */
  children: Block[]
}
