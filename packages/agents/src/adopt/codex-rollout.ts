import { isRecord, type AdoptedItem, type Json } from '@askback/protocol'
import { parseObject } from '../program/ndjson.js'
import type { LineContent, TranscriptLine } from './history.js'
import { cappedOutput, cleanJson, cleanText, joinTexts } from './sanitize.js'

/** Reads a line of `~/.codex/sessions/…/rollout-…-<thread>.jsonl`. */
export function readCodexLine({ type, payload, timestamp }: TranscriptLine): LineContent {
  if (!isRecord(payload)) return { items: [] }
  const at = Date.parse(cleanText(timestamp)) || 0
  switch (type) {
    case 'session_meta': {
      const { id, cwd } = payload
      return {
        ...(typeof id === 'string' && id !== '' && { agentSessionId: id }),
        ...(typeof cwd === 'string' && { cwd }),
        items: [],
      }
    }
    case 'response_item':
      return { items: responseItems(payload, at) }
    case 'event_msg':
      return { items: eventItems(payload, at) }
    default:
      return { items: [] }
  }
}

function responseItems(payload: TranscriptLine, at: number): AdoptedItem[] {
  const { type, role, call_id: id, name, action, output } = payload
  const toolCallId = cleanText(id)
  const text = cleanText(joinTexts(payload[type === 'reasoning' ? 'summary' : 'content']).trim())
  const call = (toolName: string, input: Json): AdoptedItem[] =>
    toolCallId === '' ? [] : [{ type: 'tool_call', at, toolCallId, toolName, input }]
  switch (type) {
    case 'message':
      // Messages of people are read from events. Here they are mixed with those that Codex adds for its model.
      return role === 'assistant' && text !== '' ? [{ type: 'text', at, text }] : []
    case 'reasoning':
      return text === '' ? [] : [{ type: 'thinking', at, text }]
    case 'function_call':
      return call(cleanText(name), parseArguments(payload['arguments']))
    case 'custom_tool_call':
      return call(cleanText(name), { input: cleanText(payload['input']) })
    case 'local_shell_call':
      return call('local_shell', cleanJson(action ?? {}))
    case 'function_call_output':
    case 'custom_tool_call_output':
      return toolCallId === '' ? [] : [{ type: 'tool_result', at, toolCallId, ...parseOutput(output) }]
    default:
      return []
  }
}

function eventItems({ type, message, item }: TranscriptLine, at: number): AdoptedItem[] {
  if (type === 'user_message' && typeof message === 'string')
    return message.trim() === '' ? [] : [{ type: 'user_message', at, text: cleanText(message) }]
  if (type !== 'item_completed' || !isRecord(item)) return []
  const id = cleanText(item['id'])
  if (item['type'] === 'UserMessage')
    return [{ type: 'user_message', at, text: cleanText(joinTexts(item['content']).trim()) }]
  // Other commands are function calls. Commands inside code mode are recorded only here, when they have ended.
  if (item['type'] !== 'CommandExecution' || !id.startsWith('exec-')) return []
  const command = Array.isArray(item['command']) ? cleanText(item['command'].join(' ')) : ''
  const isError = item['status'] !== 'completed'
  return [
    { type: 'tool_call', at, toolCallId: id, toolName: 'exec_command', input: { command } },
    {
      type: 'tool_result',
      at,
      toolCallId: id,
      isError,
      ...cappedOutput(joinTexts(item['aggregated_output'])),
    },
  ]
}

/** The output is a text. Older versions of Codex wrote JSON that contains the text and the exit code. */
function parseOutput(output: unknown): { output: string; truncated?: number; isError: boolean } {
  const text =
    typeof output === 'object' && output !== null && 'content' in output
      ? joinTexts(output.content)
      : joinTexts(output)
  const older = text.startsWith('{"output":') ? parseObject(text) : null
  if (older) {
    const { output: inner, metadata } = older
    const exit = isRecord(metadata) ? metadata['exit_code'] : undefined
    return { ...cappedOutput(String(inner)), isError: typeof exit === 'number' && exit !== 0 }
  }
  const [, exit = '0'] = /^Process exited with code (\d+)$/mu.exec(text.slice(0, 500)) ?? []
  return { ...cappedOutput(text), isError: exit !== '0' }
}

function parseArguments(given: unknown): Json {
  const text = cleanText(given)
  try {
    return cleanJson(JSON.parse(text))
  } catch {
    return { arguments: text }
  }
}
