/**
 * What Codex does, as events of the log. `codex app-server` and `codex exec` describe the same things in two formats:
 * `ThreadItem` and `ExecItem`.
 */
import type { ReportedEvent } from '@askback/core'
import { copyJson, type Json } from '@askback/protocol'
import { agentError } from '../session/turn-log.js'
import type { FileChange, ThreadItem } from './app-server-protocol.js'

/** Names of Codex's tools, as its model knows them. */
export const COMMAND_TOOL = 'exec_command'
export const PATCH_TOOL = 'apply_patch'
export const PLAN_TOOL = 'proposed_plan'
export const QUESTION_TOOL = 'request_user_input'

interface ToolAndInput {
  toolName: string
  input: Json
}

/** The tool call that an item begins; `null` if it is none. */
export function toolCallOf(item: ThreadItem): Extract<ReportedEvent, { type: 'tool_call' }> | null {
  const call = threadItemCall(item)
  return call && { type: 'tool_call', toolCallId: item.id, source: 'agent', ...call }
}

export function completedEvents(item: ThreadItem): ReportedEvent[] {
  switch (item.type) {
    case 'agentMessage':
      return item.text === '' ? [] : [{ type: 'text', blockId: item.id, text: item.text }]
    case 'reasoning': {
      const text = [...item.summary, ...item.content].join('\n\n')
      return text === '' ? [] : [{ type: 'thinking', blockId: item.id, text }]
    }
    default: {
      const call = toolCallOf(item)
      if (!call) return []
      // The result of a plan is its review.
      if (item.type === 'plan') return [call]
      const isError = item.status !== undefined && item.status !== 'completed'
      return [call, { type: 'tool_result', toolCallId: item.id, output: threadItemOutput(item), isError }]
    }
  }
}

/** The opposite of `toolCallOf`, with the fields that later requests about the item need. */
export function itemOfCall(id: string, toolName: string, input: Json): ThreadItem | null {
  if (toolName === PATCH_TOOL) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `toolCallOf` made the input of this call out of an item
    const { changes } = input as unknown as { changes: FileChange[] }
    return { id, type: 'fileChange', changes }
  }
  const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(toolName) ?? []
  if (server === undefined || tool === undefined) return null
  return { id, type: 'mcpToolCall', server, tool, arguments: input, result: null, error: null }
}

function threadItemCall(item: ThreadItem): ToolAndInput | null {
  switch (item.type) {
    case 'commandExecution':
      return { toolName: COMMAND_TOOL, input: { command: item.command, cwd: item.cwd } }
    case 'fileChange':
      return { toolName: PATCH_TOOL, input: copyJson({ changes: item.changes }, 'changes') }
    case 'mcpToolCall':
      return mcpCall(item)
    case 'webSearch':
      return { toolName: 'web_search', input: { query: item.query ?? '' } }
    case 'plan':
      return item.text === '' ? null : { toolName: PLAN_TOOL, input: { plan: item.text } }
    default:
      return null
  }
}

function threadItemOutput(item: ThreadItem): Json {
  switch (item.type) {
    case 'commandExecution': {
      const failed = item.exitCode === null || item.exitCode === 0 ? '' : `(exit code ${item.exitCode})`
      const declined = item.status === 'declined' ? 'Declined.' : ''
      return [item.aggregatedOutput ?? '', failed, declined].filter((part) => part !== '').join('\n')
    }
    case 'mcpToolCall':
      return mcpOutput(item)
    default:
      return item.status ?? ''
  }
}

/** One thing that `codex exec --json` does. Its id counts from 0 in each run. */
export type ExecItem = { id: string; status?: string } & (
  | { type: 'agent_message' | 'reasoning'; text: string }
  | { type: 'command_execution'; command: string; aggregated_output: string; exit_code: number | null }
  | { type: 'file_change'; changes: { path: string; kind: string }[] }
  | {
      type: 'mcp_tool_call'
      server: string
      tool: string
      arguments?: unknown
      result?: { content?: unknown } | null
      error?: { message: string } | null
    }
  | { type: 'web_search'; query: string }
  | { type: 'todo_list'; items: { text: string; completed: boolean }[] }
  | { type: 'error'; message: string }
)

/** The tool call that the item is about; `null` if it is none. */
export function execItemCall(item: ExecItem): ToolAndInput | null {
  switch (item.type) {
    case 'command_execution':
      return { toolName: COMMAND_TOOL, input: { command: item.command } }
    case 'file_change':
      return { toolName: PATCH_TOOL, input: { changes: item.changes } }
    case 'mcp_tool_call':
      return mcpCall(item)
    case 'web_search':
      return { toolName: 'web_search', input: { query: item.query } }
    case 'todo_list':
      return { toolName: 'update_plan', input: { plan: item.items } }
    default:
      return null
  }
}

export function execItemResult(item: ExecItem, toolCallId: string): ReportedEvent {
  const isError = item.status === 'failed' || item.status === 'declined'
  return { type: 'tool_result', toolCallId, output: execItemOutput(item), isError }
}

function execItemOutput(item: ExecItem): Json {
  switch (item.type) {
    case 'command_execution':
      return item.aggregated_output
    case 'mcp_tool_call':
      return mcpOutput(item)
    default:
      return item.status ?? ''
  }
}

function mcpCall(item: { server: string; tool: string; arguments?: unknown }): ToolAndInput {
  const toolName = `mcp__${item.server}__${item.tool}`
  return { toolName, input: copyJson(item.arguments ?? {}, 'arguments') }
}

function mcpOutput(item: {
  result?: { content?: unknown } | null
  error?: { message: string } | null
}): Json {
  return item.error ? item.error.message : copyJson(item.result?.content ?? '', 'result')
}

/** Why a turn has failed, in Codex's words, with advice if its model has refused the login. */
export function failureEvent(said: string | undefined): ReportedEvent {
  const reason = said || 'Codex failed.'
  if (!/\b401\b/.test(reason)) return agentError(reason)
  return agentError(
    `Codex was refused by its model: log in with codex login, or set a key that works. ${reason}`,
  )
}
