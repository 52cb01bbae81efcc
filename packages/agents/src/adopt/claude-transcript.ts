import type { AdoptedItem } from '@askback/protocol'
import type { LineContent, TranscriptLine } from './history.js'
import { cappedOutput, cleanJson, cleanText, joinTexts } from './sanitize.js'

type ContentBlock = { type: string; [key: string]: unknown }

/** Reads a line of `~/.claude/projects/…/<session>.jsonl`. */
export function readClaudeLine(line: TranscriptLine): LineContent {
  const { type, isSidechain, isMeta, sessionId, cwd } = line
  const isMessage = (type === 'user' || type === 'assistant') && typeof sessionId === 'string'
  // Leaves out the messages of subagents (`isSidechain`), and those that Claude Code adds for its model (`isMeta`).
  if (!isMessage || isSidechain === true || isMeta === true) return { items: [] }
  return {
    agentSessionId: sessionId,
    ...(typeof cwd === 'string' && { cwd }),
    ...(typeof line['uuid'] === 'string' && { lineId: line['uuid'] }),
    items: itemsIn(line),
  }
}

function itemsIn({ message, timestamp, type, isCompactSummary }: TranscriptLine): AdoptedItem[] {
  const at = Date.parse(cleanText(timestamp)) || 0
  const { content } = (typeof message === 'object' && message !== null ? message : {}) as {
    content?: string | ContentBlock[]
  }
  const isPerson = type === 'user' && isCompactSummary !== true
  const textItems = (text: string): AdoptedItem[] => {
    const shown = isPerson ? typedText(cleanText(text)) : cleanText(text)
    return shown.trim() === '' ? [] : [{ type: isPerson ? 'user_message' : 'text', at, text: shown }]
  }
  if (typeof content === 'string') return textItems(content)
  if (!Array.isArray(content)) return []
  return content.flatMap((block): AdoptedItem[] => {
    switch (block?.type) {
      case 'text':
        return textItems(cleanText(block['text']))
      case 'thinking': {
        const text = cleanText(block['thinking'])
        return text.trim() === '' ? [] : [{ type: 'thinking', at, text }]
      }
      case 'tool_use': {
        const [toolCallId, toolName] = [cleanText(block['id']), cleanText(block['name'])]
        if (toolCallId === '') return []
        return [{ type: 'tool_call', at, toolCallId, toolName, input: cleanJson(block['input'] ?? {}) }]
      }
      case 'tool_result': {
        const toolCallId = cleanText(block['tool_use_id'])
        if (toolCallId === '') return []
        const isError = block['is_error'] === true
        const output = cappedOutput(joinTexts(block['content']))
        return [{ type: 'tool_result', at, toolCallId, isError, ...output }]
      }
      default:
        return []
    }
  })
}

/**
 * Claude Code records a slash command in tags, and its output as a message of the user. The command is shown as it was typed,
 * its output is left out.
 */
function typedText(text: string): string {
  const [, command] = /<command-name>(.*?)<\/command-name>/su.exec(text) ?? []
  if (command !== undefined) {
    const [, args = ''] = /<command-args>(.*?)<\/command-args>/su.exec(text) ?? []
    return `${command} ${args}`.trim()
  }
  return /^<(local-command-stdout|local-command-stderr|bash-stdout|bash-stderr)>/u.test(text) ? '' : text
}
