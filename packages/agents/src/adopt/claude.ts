import { copyJson, type AdoptBody, type AdoptedItem, type Json } from '@askback/protocol'
import { words } from './words.js'

type Line = Record<string, unknown>
type Block = { type: string; [key: string]: unknown }

/** A transcript of Claude Code: `~/.claude/projects/…/<session>.jsonl`. `null` if it is none. */
export function claudeHistory(lines: Line[]): AdoptBody | null {
  const told = lines.filter(
    ({ type, isSidechain, isMeta }) =>
      (type === 'user' || type === 'assistant') && isSidechain !== true && isMeta !== true,
  )
  const [first] = told
  if (typeof first?.['sessionId'] !== 'string') return null
  const cwd = first['cwd']
  return {
    agent: 'claude',
    // A session that was resumed under another id goes on under the last.
    agentSessionId: words(told.at(-1)?.['sessionId']) || first['sessionId'],
    ...(typeof cwd === 'string' && { cwd }),
    items: told.flatMap(itemsOf),
  }
}

function itemsOf({ message, timestamp, type }: Line): AdoptedItem[] {
  const at = Date.parse(words(timestamp)) || 0
  const { content } = (message ?? {}) as { content?: string | Block[] }
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'user_message', at, text: content }]
  if (!Array.isArray(content)) return []
  return content.flatMap((block): AdoptedItem[] => {
    switch (block.type) {
      case 'text': {
        const text = words(block['text'])
        return text === '' ? [] : [{ type: type === 'user' ? 'user_message' : 'text', at, text }]
      }
      case 'thinking': {
        const text = words(block['thinking'])
        return text === '' ? [] : [{ type: 'thinking', at, text }]
      }
      case 'tool_use':
        return [
          {
            type: 'tool_call',
            at,
            toolCallId: words(block['id']),
            toolName: words(block['name']),
            input: copyJson(block['input'] ?? {}, 'input'),
          },
        ]
      case 'tool_result':
        return [
          {
            type: 'tool_result',
            at,
            toolCallId: words(block['tool_use_id']),
            output: outputOf(block['content']),
            isError: block['is_error'] === true,
          },
        ]
      default:
        return []
    }
  })
}

function outputOf(content: unknown): Json {
  if (content === undefined || content === null) return ''
  if (!Array.isArray(content)) return copyJson(content, 'output')
  const texts = content.map((part: unknown) =>
    typeof part === 'object' && part !== null && 'text' in part ? String(part.text) : null,
  )
  return texts.includes(null) ? copyJson(content, 'output') : texts.join('\n')
}
