import type { AdoptedItem, Json } from '@askback/protocol'
import { clean, outputOf, textOf, words } from './clean.js'
import type { Line, Told } from './told.js'

/** What a line of a rollout of Codex tells: `~/.codex/sessions/…/rollout-…-<thread>.jsonl`. */
export function codexLine({ type, payload, timestamp }: Line): Told {
  if (typeof payload !== 'object' || payload === null) return { items: [] }
  const told = payload as Line
  const at = Date.parse(words(timestamp)) || 0
  switch (type) {
    case 'session_meta': {
      const { id, cwd } = told
      return {
        ...(typeof id === 'string' && id !== '' && { agentSessionId: id }),
        ...(typeof cwd === 'string' && { cwd }),
        items: [],
      }
    }
    case 'response_item':
      return { items: responseItem(told, at) }
    case 'event_msg':
      return { items: eventItem(told, at) }
    default:
      return { items: [] }
  }
}

function responseItem(payload: Line, at: number): AdoptedItem[] {
  const { type, role, call_id: id, name, action, output } = payload
  const toolCallId = words(id)
  const text = words(textOf(payload[type === 'reasoning' ? 'summary' : 'content']).trim())
  const call = (toolName: string, input: Json): AdoptedItem[] =>
    toolCallId === '' ? [] : [{ type: 'tool_call', at, toolCallId, toolName, input }]
  switch (type) {
    case 'message':
      // What people say comes as an event; here it stands among what Codex adds for the model.
      return role === 'assistant' && text !== '' ? [{ type: 'text', at, text }] : []
    case 'reasoning':
      return text === '' ? [] : [{ type: 'thinking', at, text }]
    case 'function_call':
      return call(words(name), argumentsIn(payload['arguments']))
    case 'custom_tool_call':
      return call(words(name), { input: words(payload['input']) })
    case 'local_shell_call':
      return call('local_shell', clean(action ?? {}))
    case 'function_call_output':
    case 'custom_tool_call_output':
      return toolCallId === '' ? [] : [{ type: 'tool_result', at, toolCallId, ...resultIn(output) }]
    default:
      return []
  }
}

function eventItem({ type, message, item }: Line, at: number): AdoptedItem[] {
  if (type === 'user_message' && typeof message === 'string')
    return message.trim() === '' ? [] : [{ type: 'user_message', at, text: words(message) }]
  if (type !== 'item_completed' || typeof item !== 'object' || item === null) return []
  const done = item as Line
  const id = words(done['id'])
  if (done['type'] === 'UserMessage')
    return [{ type: 'user_message', at, text: words(textOf(done['content']).trim()) }]
  // What runs inside code mode is told only once it has ended.
  if (done['type'] !== 'CommandExecution' || !id.startsWith('exec-')) return []
  const command = Array.isArray(done['command']) ? words(done['command'].join(' ')) : ''
  const isError = done['status'] !== 'completed'
  return [
    { type: 'tool_call', at, toolCallId: id, toolName: 'exec_command', input: { command } },
    {
      type: 'tool_result',
      at,
      toolCallId: id,
      isError,
      ...outputOf(textOf(done['aggregated_output'])),
    },
  ]
}

/** A text; or, of older versions, JSON with the text and how the program ended. */
function resultIn(output: unknown): { output: string; truncated?: number; isError: boolean } {
  const text =
    typeof output === 'object' && output !== null && 'content' in output
      ? textOf(output.content)
      : textOf(output)
  const older = text.startsWith('{"output":') ? asJson(text) : null
  if (typeof older === 'object' && older !== null) {
    const { output: inner, metadata } = older as { output?: unknown; metadata?: { exit_code?: unknown } }
    const exit = metadata?.exit_code
    return { ...outputOf(String(inner)), isError: typeof exit === 'number' && exit !== 0 }
  }
  const [, exit = '0'] = /^Process exited with code (\d+)$/mu.exec(text.slice(0, 500)) ?? []
  return { ...outputOf(text), isError: exit !== '0' }
}

function argumentsIn(given: unknown): Json {
  const parsed = asJson(words(given))
  return parsed === undefined ? { arguments: words(given) } : clean(parsed)
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
