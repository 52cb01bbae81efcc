import { copyJson, type AdoptBody, type AdoptedItem, type Json } from '@askback/protocol'
import { words } from './words.js'

type Line = Record<string, unknown>
type Payload = Record<string, unknown>

/** A rollout of Codex: `~/.codex/sessions/…/rollout-…-<thread>.jsonl`. `null` if it is none. */
export function codexHistory(lines: Line[]): AdoptBody | null {
  const meta = lines.find(({ type }) => type === 'session_meta')?.['payload'] as Payload | undefined
  if (typeof meta?.['id'] !== 'string') return null
  const cwd = meta['cwd']
  const items = lines.flatMap(({ type, payload, timestamp }) => {
    const at = Date.parse(words(timestamp)) || 0
    if (typeof payload !== 'object' || payload === null) return []
    if (type === 'response_item') return responseItem(payload as Payload, at)
    return type === 'event_msg' ? eventItem(payload as Payload, at) : []
  })
  const called = new Set(
    items.flatMap((item) =>
      item.type === 'tool_call' && !isNested(item.toolCallId) ? [item.toolCallId] : [],
    ),
  )
  return {
    agent: 'codex',
    agentSessionId: meta['id'],
    ...(typeof cwd === 'string' && { cwd }),
    // What runs inside code mode is told only once it has ended.
    items: items.filter(
      (item) => !('toolCallId' in item) || called.has(item.toolCallId) || isNested(item.toolCallId),
    ),
  }
}

function responseItem(payload: Payload, at: number): AdoptedItem[] {
  const { type, role, content, call_id: id, name, arguments: given, input, output } = payload
  const toolCallId = words(id)
  switch (type) {
    case 'message': {
      const text = role === 'assistant' ? textOf(content) : ''
      return text === '' ? [] : [{ type: 'text', at, text }]
    }
    case 'reasoning': {
      const text = textOf(payload['summary'])
      return text === '' ? [] : [{ type: 'thinking', at, text }]
    }
    case 'function_call':
      return [{ type: 'tool_call', at, toolCallId, toolName: words(name), input: argumentsIn(given) }]
    case 'custom_tool_call':
      return [{ type: 'tool_call', at, toolCallId, toolName: words(name), input: { input: words(input) } }]
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const told = typeof output === 'string' ? output : textOf(output)
      return [{ type: 'tool_result', at, toolCallId, output: told, isError: false }]
    }
    default:
      return []
  }
}

function eventItem({ type, message, item }: Payload, at: number): AdoptedItem[] {
  if (type === 'user_message' && typeof message === 'string')
    return [{ type: 'user_message', at, text: message }]
  if (type !== 'item_completed' || typeof item !== 'object' || item === null) return []
  const done = item as Payload
  const id = words(done['id'])
  if (done['type'] === 'UserMessage') return [{ type: 'user_message', at, text: textOf(done['content']) }]
  if (done['type'] !== 'CommandExecution' || !isNested(id)) return []
  const command = Array.isArray(done['command']) ? done['command'].join(' ') : ''
  const output = words(done['aggregated_output'])
  return [
    { type: 'tool_call', at, toolCallId: id, toolName: 'exec_command', input: { command } },
    { type: 'tool_result', at, toolCallId: id, output, isError: done['status'] !== 'completed' },
  ]
}

function isNested(toolCallId: string): boolean {
  return toolCallId.startsWith('exec-')
}

function argumentsIn(given: unknown): Json {
  try {
    return copyJson(JSON.parse(words(given)), 'arguments')
  } catch {
    return { arguments: words(given) }
  }
}

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return ''
  return content
    .map((part: unknown) =>
      typeof part === 'object' && part !== null && 'text' in part ? String(part.text) : '',
    )
    .join('\n')
    .trim()
}
