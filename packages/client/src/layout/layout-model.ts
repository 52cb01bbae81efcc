import type { Actor, Interaction, Json, ToolCall, Turn } from '@askback/protocol'

/** What a surface draws of a session, as plain data. It is the same for live and for replayed events. */
export interface Layout {
  turns: TurnLayout[]
  /** The agent works, and nothing is pending. */
  typing: boolean
  /** Something is pending. */
  waiting: boolean
}

/** A turn, divided into containers. */
export interface TurnLayout extends Pick<Turn, 'turnId' | 'startedAt' | 'endedAt' | 'reason' | 'cause'> {
  key: string
  containers: Container[]
}

/** A part of a conversation: a message, a response of the agent, or a tool call by itself. */
export type Container =
  | { type: 'user_message'; key: string; at: number; text: string; by: Actor }
  /** The blocks of one response of the agent; `responseId` is `null` if the agent reports no such ids. */
  | { type: 'response'; key: string; responseId: string | null; blocks: LayoutBlock[] }
  /** Calls and interactions that belong to no response, at their tool call. */
  | { type: 'tool_call'; key: string; toolCallId: string; blocks: LayoutBlock[] }
  | { type: 'error'; key: string; at: number; code: string; message: string; fatal: boolean }
  | { type: 'context_cleared'; key: string; at: number }

/** A block inside of a container, in the order of the log. */
export type LayoutBlock =
  | {
      type: 'text' | 'thinking'
      key: string
      text: string
      /** `streaming`: still being written. `partial`: the agent was lost before it was complete. */
      state: 'streaming' | 'complete' | 'partial'
    }
  /** Consecutive calls that nobody was asked about: a surface may show them as one line. */
  | { type: 'tool_group'; key: string; calls: ToolBlock[] }
  /** A call that somebody is or was asked about, or that contains other calls: it is always shown. */
  | { type: 'tool'; key: string; call: ToolBlock }
  | CardBlock

/** The card of an interaction. With presentation `questionnaire` it is a block, with `tool` it is part of its call's block. */
export interface CardBlock {
  type: 'interaction'
  key: string
  interaction: Interaction
  /** Whether it can be answered. */
  open: boolean
  /** The ids of the superseded interactions that it replaces, oldest first. */
  replaces: string[]
}

/** What a tool call is doing, in a word. */
export type ToolStatus =
  /** Its input is being written. */
  | 'streaming'
  /** A person is asked about it. */
  | 'waiting'
  | 'running'
  /** Approved, and the log has no more about it. */
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

/** A tool call with its result and its interactions. */
export interface ToolBlock {
  key: string
  toolCallId: string
  toolName: string
  input: Json
  /** The JSON text so far of an input that is being written. */
  partialInput?: string
  status: ToolStatus
  /** A person is asked about it or about a call inside it, so it stays expanded. */
  waiting: boolean
  /** The log has an approval of this call, but not the call. */
  placeholder: boolean
  /** How it came, such as `via CLI`; `null` if it is of the session's own agent. */
  source: string | null
  approvals: CardBlock[]
  result?: NonNullable<ToolCall['result']>
  /** The output so far, while the tool runs. */
  liveOutput?: string
  /** Calls of the subagent that this call runs. */
  children: LayoutBlock[]
}
