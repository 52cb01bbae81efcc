import type { Reported } from '@askback/core'
import { copyJson, type Json } from '@askback/protocol'
import type { FileChange, ThreadItem } from './app-server.js'

/** A tool call that begins; `null` for what is none. */
export function startOf(item: ThreadItem): Extract<Reported, { type: 'tool_call' }> | null {
  const call = callOf(item)
  return call && { type: 'tool_call', toolCallId: item.id, source: 'agent', ...call }
}

/** What a finished item leaves in the log. */
export function endOf(item: ThreadItem): Reported[] {
  switch (item.type) {
    case 'agentMessage':
      return item.text === '' ? [] : [{ type: 'text', blockId: item.id, text: item.text }]
    case 'reasoning': {
      const text = [...item.summary, ...item.content].join('\n\n')
      return text === '' ? [] : [{ type: 'thinking', blockId: item.id, text }]
    }
    default: {
      const start = startOf(item)
      // Its own review ends the call of a plan.
      if (!start || item.type === 'plan') return start ? [start] : []
      const isError = item.status !== undefined && item.status !== 'completed'
      return [start, { type: 'tool_result', toolCallId: item.id, output: outputOf(item), isError }]
    }
  }
}

/** The item that a call in the log stands for, as far as its requests need it. */
export function itemOf(id: string, toolName: string, input: Json): ThreadItem | null {
  if (toolName === PATCH) {
    const { changes } = input as unknown as { changes: FileChange[] }
    return { id, type: 'fileChange', changes }
  }
  const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(toolName) ?? []
  if (server === undefined || tool === undefined) return null
  return { id, type: 'mcpToolCall', server, tool, arguments: input, result: null, error: null }
}

function callOf(item: ThreadItem): { toolName: string; input: Json } | null {
  switch (item.type) {
    case 'commandExecution':
      return { toolName: COMMAND, input: { command: item.command, cwd: item.cwd } }
    case 'fileChange':
      return { toolName: PATCH, input: copyJson({ changes: item.changes }, 'changes') }
    case 'mcpToolCall':
      return {
        toolName: `mcp__${item.server}__${item.tool}`,
        input: copyJson(item.arguments ?? {}, 'arguments'),
      }
    case 'webSearch':
      return { toolName: 'web_search', input: { query: item.query ?? '' } }
    case 'plan':
      return item.text === '' ? null : { toolName: PLAN, input: { plan: item.text } }
    default:
      return null
  }
}

function outputOf(item: ThreadItem): Json {
  switch (item.type) {
    case 'commandExecution': {
      const failed = item.exitCode === null || item.exitCode === 0 ? '' : `(exit code ${item.exitCode})`
      const declined = item.status === 'declined' ? 'Declined.' : ''
      return [item.aggregatedOutput ?? '', failed, declined].filter((part) => part !== '').join('\n')
    }
    case 'mcpToolCall':
      return item.error ? item.error.message : copyJson(item.result?.content ?? '', 'result')
    default:
      return item.status ?? ''
  }
}

/** The names that the model knows these by. */
export const COMMAND = 'exec_command'
export const PATCH = 'apply_patch'
export const PLAN = 'proposed_plan'
export const QUESTION = 'request_user_input'
