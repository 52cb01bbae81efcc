import type { AdoptedItem } from '@askback/protocol'
import { clean, outputOf, textOf, words } from './clean.js'
import type { Line, Told } from './told.js'

type Block = { type: string; [key: string]: unknown }

/** What a line of a transcript of Claude Code tells: `~/.claude/projects/…/<session>.jsonl`. */
export function claudeLine(line: Line): Told {
  const { type, isSidechain, isMeta, sessionId, cwd } = line
  const isTold = (type === 'user' || type === 'assistant') && typeof sessionId === 'string'
  // What subagents say among themselves, and what Claude Code says to the model.
  if (!isTold || isSidechain === true || isMeta === true) return { items: [] }
  return {
    // A session that was resumed under another id goes on under the last.
    agentSessionId: sessionId,
    ...(typeof cwd === 'string' && { cwd }),
    ...(typeof line['uuid'] === 'string' && { id: line['uuid'] }),
    items: itemsOf(line),
  }
}

function itemsOf({ message, timestamp, type, isCompactSummary }: Line): AdoptedItem[] {
  const at = Date.parse(words(timestamp)) || 0
  const { content } = (typeof message === 'object' && message !== null ? message : {}) as {
    content?: string | Block[]
  }
  const isPerson = type === 'user' && isCompactSummary !== true
  const said = (text: string): AdoptedItem[] => {
    const shown = isPerson ? typed(words(text)) : words(text)
    return shown.trim() === '' ? [] : [{ type: isPerson ? 'user_message' : 'text', at, text: shown }]
  }
  if (typeof content === 'string') return said(content)
  if (!Array.isArray(content)) return []
  return content.flatMap((block): AdoptedItem[] => {
    switch (block?.type) {
      case 'text':
        return said(words(block['text']))
      case 'thinking': {
        const text = words(block['thinking'])
        return text.trim() === '' ? [] : [{ type: 'thinking', at, text }]
      }
      case 'tool_use': {
        const [toolCallId, toolName] = [words(block['id']), words(block['name'])]
        if (toolCallId === '') return []
        return [{ type: 'tool_call', at, toolCallId, toolName, input: clean(block['input'] ?? {}) }]
      }
      case 'tool_result': {
        const toolCallId = words(block['tool_use_id'])
        if (toolCallId === '') return []
        const isError = block['is_error'] === true
        return [{ type: 'tool_result', at, toolCallId, isError, ...outputOf(textOf(block['content'])) }]
      }
      default:
        return []
    }
  })
}

/** A command of Claude Code's own stands in tags, and what it printed is no message of a person. */
function typed(text: string): string {
  const [, command] = /<command-name>(.*?)<\/command-name>/su.exec(text) ?? []
  if (command !== undefined) {
    const [, args = ''] = /<command-args>(.*?)<\/command-args>/su.exec(text) ?? []
    return `${command} ${args}`.trim()
  }
  return /^<(local-command-stdout|local-command-stderr|bash-stdout|bash-stderr)>/u.test(text) ? '' : text
}
