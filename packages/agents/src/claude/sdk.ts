import type { ChildProcessByStdio } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import type { Elicitation, ElicitationResult } from '../session/elicitation.js'

export type { Elicitation, ElicitationResult }

/**
 * The part of `@anthropic-ai/claude-agent-sdk` that is used here. The types are declared here, so that the package need not be
 * installed to build. A test compares them with those of the real package.
 */
export interface ClaudeSdk {
  query(input: { prompt: AsyncIterable<UserInput>; options?: QueryOptions }): ClaudeQuery
}

/** A running query of the SDK. */
export interface ClaudeQuery extends AsyncIterable<SdkMessage> {
  interrupt(): Promise<unknown>
  setPermissionMode(mode: SdkMode): Promise<void>
}

/** The only modes that are used: in all others Claude Code decides without asking. */
export type SdkMode = 'default' | 'plan'

/** A message for the agent. */
export interface UserInput {
  type: 'user'
  message: { role: 'user'; content: string }
  parent_tool_use_id: null
  uuid?: Uuid
}

/** A UUID as text. */
export type Uuid = `${string}-${string}-${string}-${string}-${string}`

/** The options of a query that the adapter sets. */
export interface QueryOptions {
  cwd?: string
  model?: string
  resume?: string
  permissionMode?: SdkMode
  includePartialMessages?: boolean
  pathToClaudeCodeExecutable?: string
  env?: { [name: string]: string | undefined }
  settingSources?: ('user' | 'project' | 'local')[]
  settings?: { useAutoModeDuringPlan?: boolean }
  managedSettings?: { allowManagedPermissionRulesOnly?: boolean; allowManagedHooksOnly?: boolean }
  additionalDirectories?: string[]
  disallowedTools?: string[]
  systemPrompt?: { type: 'preset'; preset: 'claude_code' }
  extraArgs?: Record<string, string | null>
  mcpServers?: Record<string, McpServer>
  canUseTool?: CanUseTool
  onElicitation?: OnElicitation
  hooks?: { PreToolUse?: HookMatcher[] }
  spawnClaudeCodeProcess?: (options: SpawnRequest) => SpawnedClaude
}

/** An MCP server that Claude Code starts as a command. */
export interface McpServer {
  type?: 'stdio'
  command: string
  args?: string[]
  env?: Record<string, string>
}

/** Called before a tool runs, if the permission mode does not allow it by itself. */
export type CanUseTool = (
  toolName: string,
  input: Record<string, unknown>,
  options: CanUseToolOptions,
) => Promise<PermissionResult>

/** What the SDK says about a call beside its input. */
export interface CanUseToolOptions {
  signal: AbortSignal
  toolUseID: string
  agentID?: string
  title?: string
  description?: string
  decisionReason?: string
  blockedPath?: string
}

/** Whether a call may run, and with which input. */
export type PermissionResult =
  | { behavior: 'allow'; updatedInput?: Record<string, unknown>; updatedPermissions?: SetMode[] }
  | { behavior: 'deny'; message: string; interrupt?: boolean }

/** The only permission update that is passed on. Permission rules are stored by Askback alone. */
export interface SetMode {
  type: 'setMode'
  mode: SdkMode
  destination: 'session'
}

/** Called when an MCP server asks the person something. */
export type OnElicitation = (
  request: Elicitation,
  options: { signal: AbortSignal },
) => Promise<ElicitationResult>

/** Hooks for the tools whose names fit `matcher`. */
export interface HookMatcher {
  matcher?: string
  hooks: PreToolUseHook[]
  /** In seconds. */
  timeout?: number
}

/** What a hook gets to know about a call. */
export interface PreToolUseInput {
  hook_event_name: string
  tool_name?: string
  tool_use_id?: string
  tool_input?: unknown
  agent_id?: string
}

/** Called before each call of a tool. */
export type PreToolUseHook = (
  input: PreToolUseInput,
  toolUseId: string | undefined,
  options: { signal: AbortSignal },
) => Promise<PreToolUseOutput>

/** What a hook decides about a call. */
export interface PreToolUseOutput {
  hookSpecificOutput?: {
    hookEventName: 'PreToolUse'
    permissionDecision?: 'ask' | 'defer'
    permissionDecisionReason?: string
  }
}

/** The program that the SDK wants to start. */
export interface SpawnRequest {
  command: string
  args: string[]
  cwd?: string
  env: { [name: string]: string | undefined }
}

/** A process of Node's `child_process` with both pipes. */
export type SpawnedClaude = ChildProcessByStdio<Writable, Readable, Readable>

/** What a query yields: one of `KnownMessage`, or another type that is not used here. */
export type SdkMessage = { type: string }

/** The messages that the adapter reads. */
export type KnownMessage =
  | SystemMessage
  | AssistantMessage
  | UserMessage
  | StreamMessage
  | ResultMessage
  | ConversationResetMessage

/** A message of Claude Code itself. */
export type SystemMessage = InitMessage | RetryMessage | BackgroundMessage | CommandOutputMessage

/** The first message of a conversation. */
export interface InitMessage {
  type: 'system'
  subtype: 'init'
  session_id: string
}

/** The shells and subagents that run in the background. */
export interface BackgroundMessage {
  type: 'system'
  subtype: 'background_tasks_changed'
  tasks: unknown[]
}

/** The output of a slash command that Claude Code runs without its model. */
export interface CommandOutputMessage {
  type: 'system'
  subtype: 'local_command_output'
  content: string
  uuid: Uuid
}

/** The same process continues with an empty context, under another session id: `/clear`. */
export interface ConversationResetMessage {
  type: 'conversation_reset'
}

/** Claude Code waits, and then sends its request to the model again. */
export interface RetryMessage {
  type: 'system'
  subtype: 'api_retry'
  attempt: number
  max_retries: number
  retry_delay_ms: number
  /** The HTTP status; `null` if there was no response. */
  error_status: number | null
  error: ModelError
}

/** Why the model gave no answer. */
export type ModelError =
  | 'authentication_failed'
  | 'oauth_org_not_allowed'
  | 'account_on_hold'
  | 'verification_required'
  | 'billing_error'
  | 'rate_limit'
  | 'overloaded'
  | 'invalid_request'
  | 'model_not_found'
  | 'server_error'
  | 'unknown'
  | 'max_output_tokens'
  | 'cloud_credential_error'

/** A finished block of the model, with the message that it is a part of. */
export interface AssistantMessage {
  type: 'assistant'
  /** Each message has one finished block. */
  message: { id: string; content: AssistantBlock[] }
  parent_tool_use_id: string | null
  /** Set if Claude Code itself has written the message, about an error. */
  error?: ModelError
}

/** One block of an assistant message: a text, a thought or a tool call. */
export type AssistantBlock =
  | { type: 'text'; text: string }
  | { type: 'thinking'; thinking: string }
  | { type: 'tool_use'; id: string; name: string; input: unknown }
  | { type: 'other' }

/** A message in the name of the user, such as the results of tools. */
export interface UserMessage {
  type: 'user'
  message: { content: string | { type: string }[] }
  /** The id of a message that was sent to Claude Code, which has accepted it. */
  uuid?: Uuid
  isReplay?: boolean
}

/** The result of a tool call, as the model gets it. */
export interface ToolResultBlock {
  type: 'tool_result'
  tool_use_id: string
  is_error?: boolean | undefined
  content?: unknown
}

/** An event of the model’s stream. */
export interface StreamMessage {
  type: 'stream_event'
  event: StreamEvent
  parent_tool_use_id: string | null
}

/** What happens while the model writes. */
export type StreamEvent =
  | { type: 'message_start'; message: { id: string } }
  | {
      type: 'content_block_start'
      index: number
      content_block: { type: string; id?: string; name?: string }
    }
  | { type: 'content_block_delta'; index: number; delta: StreamDelta }
  | { type: 'other' }

/** A part of a block that is being written. */
export type StreamDelta =
  | { type: 'text_delta'; text: string }
  | { type: 'thinking_delta'; thinking: string }
  | { type: 'input_json_delta'; partial_json: string }
  | { type: 'other' }

/** The end of a turn. */
export interface ResultMessage {
  type: 'result'
  subtype: string
  is_error: boolean
  stop_reason: string | null
  /** How the turn ended; begins with `aborted` if it was interrupted. */
  terminal_reason?: string
  /** The last text, or the error. */
  result?: string
  errors?: string[]
  /** Ids of the messages that this result answers. A local slash command is accepted here and nowhere else. */
  user_message_uuids?: string[]
  total_cost_usd: number
  usage: { input_tokens: number; output_tokens: number }
}
