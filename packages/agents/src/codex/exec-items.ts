import type { Reported } from '@askback/core'
import { copyJson, type Json } from '@askback/protocol'
import { COMMAND, PATCH } from './items.js'

/** What `codex exec --json` tells of one thing that it does. Its id counts from 0 in each run. */
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

export function execCall(item: ExecItem): { toolName: string; input: Json } | null {
  switch (item.type) {
    case 'command_execution':
      return { toolName: COMMAND, input: { command: item.command } }
    case 'file_change':
      return { toolName: PATCH, input: { changes: item.changes } }
    case 'mcp_tool_call':
      return {
        toolName: `mcp__${item.server}__${item.tool}`,
        input: copyJson(item.arguments ?? {}, 'arguments'),
      }
    case 'web_search':
      return { toolName: 'web_search', input: { query: item.query } }
    case 'todo_list':
      return { toolName: 'update_plan', input: { plan: item.items } }
    default:
      return null
  }
}

export function execResult(item: ExecItem, toolCallId: string): Reported {
  const isError = item.status === 'failed' || item.status === 'declined'
  return { type: 'tool_result', toolCallId, output: outputOf(item), isError }
}

function outputOf(item: ExecItem): Json {
  switch (item.type) {
    case 'command_execution':
      return item.aggregated_output
    case 'mcp_tool_call':
      return item.error ? item.error.message : copyJson(item.result?.content ?? '', 'result')
    default:
      return item.status ?? ''
  }
}
