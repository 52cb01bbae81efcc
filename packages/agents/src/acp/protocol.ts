/** The part of the Agent Client Protocol, version 1, that is used here. */
import type { Json } from '@askback/protocol'

/** The result of `initialize`. */
export interface Initialized {
  agentInfo?: { name: string } | null
  authMethods?: { id: string; name?: string; description?: string | null }[] | null
  agentCapabilities?: {
    loadSession?: boolean
    sessionCapabilities?: { resume?: object | null } | null
  }
}

/** The result of `session/new`, `session/load` and `session/resume`. */
export interface OpenedSession {
  sessionId?: string
  modes?: { currentModeId: string; availableModes: { id: string; name?: string }[] } | null
  models?: { currentModelId: string; availableModels: { modelId: string }[] } | null
  configOptions?: ConfigOption[] | null
}

export interface ConfigOption {
  id: string
  category?: string | null
  type: string
  currentValue?: unknown
  options?: (ConfigValue | { options: ConfigValue[] })[]
}

export interface ConfigValue {
  value: string
  name?: string
}

export type StopReason = 'end_turn' | 'max_tokens' | 'max_turn_requests' | 'refusal' | 'cancelled'

export interface AcpToolCall {
  toolCallId: string
  title?: string | null
  name?: string | null
  kind?: string | null
  status?: 'pending' | 'in_progress' | 'completed' | 'failed' | null
  content?: ToolContent[] | null
  locations?: { path: string }[] | null
  rawInput?: unknown
  rawOutput?: unknown
}

export type ToolContent =
  | { type: 'content'; content: { type: string; text?: string } }
  | { type: 'diff'; path: string; oldText?: string | null; newText: string }
  | { type: 'terminal'; terminalId: string }

export type SessionUpdate =
  | {
      sessionUpdate: 'agent_message_chunk' | 'agent_thought_chunk'
      content: { type: string; text?: string }
    }
  | ({ sessionUpdate: 'tool_call' | 'tool_call_update' } & AcpToolCall)
  | { sessionUpdate: 'plan'; entries: Json[] }
  | ModeUpdate
  | { sessionUpdate: 'other' }

export type ModeUpdate =
  | { sessionUpdate: 'current_mode_update'; currentModeId: string }
  | { sessionUpdate: 'config_option_update'; configOptions: ConfigOption[] }

export interface PermissionRequest {
  sessionId: string
  toolCall: AcpToolCall
  options: PermissionOption[]
}

export interface PermissionOption {
  optionId: string
  name: string
  kind: 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always'
}

export type PermissionOutcome = { outcome: 'selected'; optionId: string } | { outcome: 'cancelled' }

export interface ElicitationRequest {
  sessionId?: string
  toolCallId?: string | null
  mode: string
  message: string
  requestedSchema?: Record<string, unknown>
  url?: string
}

/** What the agent may send. Other methods are refused or ignored. */
export interface AcpProtocol {
  request:
    | { method: 'session/request_permission'; params: PermissionRequest }
    | { method: 'elicitation/create'; params: ElicitationRequest }
  notification: { method: 'session/update'; params: { update: SessionUpdate } }
}
