import type { LiveEvent, SessionEvent } from '@askback/protocol'
import { resultId, resultText } from './messages.js'

/** An event of AG-UI. */
export interface AguiEvent {
  type: string
  [field: string]: unknown
}

interface OpenBlock {
  type: 'text' | 'thinking'
  /** How many characters of the block were sent. */
  sent: number
}

/**
 * Turns the events of a session into those of AG-UI, for one run. A block that is being written is a message that is open: it is closed
 * when the finished block is in the log, or when the run ends before.
 */
export class AguiEvents {
  readonly #open = new Map<string, OpenBlock>()

  ofLive(event: LiveEvent): AguiEvent[] {
    switch (event.type) {
      case 'text_delta':
        return this.#append('text', event.blockId, event.text, event.offset)
      case 'thinking_delta':
        return this.#append('thinking', event.blockId, event.text, event.offset)
      case 'tool_call_delta':
      case 'tool_output_delta':
        return [custom(event)]
    }
  }

  of(event: SessionEvent): AguiEvent[] {
    switch (event.type) {
      case 'user_message':
        return [
          { type: 'TEXT_MESSAGE_START', messageId: event.id, role: 'user' },
          { type: 'TEXT_MESSAGE_CONTENT', messageId: event.id, delta: event.text },
          { type: 'TEXT_MESSAGE_END', messageId: event.id },
        ]
      case 'text':
      case 'thinking':
        return [...this.#append(event.type, event.blockId, event.text, 0), ...this.#close(event.blockId)]
      case 'tool_call':
        return [
          { type: 'TOOL_CALL_START', toolCallId: event.toolCallId, toolCallName: event.toolName },
          { type: 'TOOL_CALL_ARGS', toolCallId: event.toolCallId, delta: JSON.stringify(event.input) },
          { type: 'TOOL_CALL_END', toolCallId: event.toolCallId },
        ]
      case 'tool_result': {
        const { toolCallId, output } = event
        const result = {
          messageId: resultId(toolCallId),
          toolCallId,
          content: resultText(output),
          role: 'tool',
        }
        return [{ type: 'TOOL_CALL_RESULT', ...result }]
      }
      default:
        return [custom(event)]
    }
  }

  /** Closes what is still being written. */
  close(): AguiEvent[] {
    return [...this.#open.keys()].flatMap((blockId) => this.#close(blockId))
  }

  #append(type: OpenBlock['type'], blockId: string, text: string, offset: number): AguiEvent[] {
    const known = this.#open.get(blockId)
    const block = known ?? { type, sent: 0 }
    // A piece before it was lost: the finished block has everything.
    if (offset > block.sent) return []
    const delta = text.slice(block.sent - offset)
    this.#open.set(blockId, block)
    block.sent += delta.length
    const started = known ? [] : startOf(type, blockId)
    const content = type === 'text' ? 'TEXT_MESSAGE_CONTENT' : 'REASONING_MESSAGE_CONTENT'
    return delta === '' ? started : [...started, { type: content, messageId: blockId, delta }]
  }

  #close(messageId: string): AguiEvent[] {
    const block = this.#open.get(messageId)
    this.#open.delete(messageId)
    if (!block) return []
    if (block.type === 'text') return [{ type: 'TEXT_MESSAGE_END', messageId }]
    return [
      { type: 'REASONING_MESSAGE_END', messageId },
      { type: 'REASONING_END', messageId },
    ]
  }
}

function startOf(type: OpenBlock['type'], messageId: string): AguiEvent[] {
  if (type === 'text') return [{ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' }]
  return [
    { type: 'REASONING_START', messageId },
    { type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' },
  ]
}

/** What AG-UI has no event for. */
function custom(event: SessionEvent | LiveEvent): AguiEvent {
  return { type: 'CUSTOM', name: `askback.${event.type}`, value: event }
}
