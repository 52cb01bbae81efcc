import type { LiveDelta, ReportedEvent } from '@askback/core'
import { copyJson, type Json } from '@askback/protocol'
import type {
  AssistantMessage,
  StreamEvent,
  StreamMessage,
  ToolResultBlock,
  UserMessage,
  Uuid,
} from './sdk.js'

/** Claude Code streams no output of tools. */
type StreamedDelta = Exclude<LiveDelta, { type: 'tool_output_delta' }>

/**
 * Translates the agent's messages into events. While the model writes a block, its parts come as deltas; the finished block
 * comes as a message of its own and has the same id as its deltas.
 */
export class MessageReader {
  /** The response that the model is writing in the main conversation, and the block in it. */
  #streaming: { id: string; index: number } | null = null
  /** How many blocks have come of each response that was not streamed. */
  readonly #blockCounts = new Map<string, number>()
  readonly #tools = new Map<string, { toolCallId: string; toolName: string }>()
  /** The deltas of each unfinished block. */
  readonly #unfinished = new Map<string, StreamedDelta[]>()

  delta(message: StreamMessage): StreamedDelta | null {
    // Blocks of subagents are not streamed.
    if (message.parent_tool_use_id !== null) return null
    const delta = this.#deltaOf(message.event)
    if (!delta || !this.#streaming) return null
    const id = blockId(this.#streaming.id, this.#streaming.index)
    const deltas = this.#unfinished.get(id) ?? []
    deltas.push(delta)
    this.#unfinished.set(id, deltas)
    return delta
  }

  /** Blocks that will not be finished, because the response was interrupted or another one has begun. */
  takeUnfinished(): ReportedEvent[] {
    const unfinished = [...this.#unfinished.values()]
    this.#unfinished.clear()
    return unfinished.map(partialBlock)
  }

  #deltaOf(event: StreamEvent): StreamedDelta | null {
    if (event.type === 'message_start') this.#streaming = { id: event.message.id, index: 0 }
    const streaming = this.#streaming
    if (!streaming) return null
    if (event.type === 'content_block_start') {
      streaming.index = event.index
      const { type, id, name } = event.content_block
      if (type === 'tool_use' && id !== undefined && name !== undefined)
        this.#tools.set(blockId(streaming.id, event.index), { toolCallId: id, toolName: name })
    }
    if (event.type !== 'content_block_delta') return null
    const block = blockId(streaming.id, event.index)
    const { delta } = event
    switch (delta.type) {
      case 'text_delta':
        return { type: 'text_delta', blockId: block, text: delta.text }
      case 'thinking_delta':
        return { type: 'thinking_delta', blockId: block, text: delta.thinking }
      case 'input_json_delta': {
        const tool = this.#tools.get(block)
        return tool ? { type: 'tool_call_delta', ...tool, partialInput: delta.partial_json } : null
      }
      default:
        return null
    }
  }

  blocks({ message, parent_tool_use_id }: AssistantMessage, isInterrupted: boolean): ReportedEvent[] {
    const responseId = message.id
    const partial = isInterrupted ? { partial: true } : {}
    return message.content.flatMap((block): ReportedEvent[] => {
      const id = blockId(responseId, this.#indexOf(responseId))
      this.#unfinished.delete(id)
      switch (block.type) {
        case 'text':
          return block.text === ''
            ? []
            : [{ type: 'text', blockId: id, text: block.text, responseId, ...partial }]
        case 'thinking':
          return block.thinking === ''
            ? []
            : [{ type: 'thinking', blockId: id, text: block.thinking, responseId, ...partial }]
        case 'tool_use': {
          const parent = parent_tool_use_id === null ? {} : { parentToolCallId: parent_tool_use_id }
          const { id: toolCallId, name: toolName } = block
          const input = copyJson(block.input ?? {}, 'input')
          return [{ type: 'tool_call', toolCallId, toolName, input, source: 'agent', responseId, ...parent }]
        }
        default:
          return []
      }
    })
  }

  results({ message }: UserMessage): Extract<ReportedEvent, { type: 'tool_result' }>[] {
    if (typeof message.content === 'string') return []
    return message.content.filter(isResult).map((block) => {
      const output = outputOf(block.content)
      return {
        type: 'tool_result',
        toolCallId: block.tool_use_id,
        output,
        isError: block.is_error ?? false,
        ...(isInterruptedOutput(output) && { settledBy: 'interrupted' }),
      }
    })
  }

  /** A finished block arrives while it is still the streamed one. Where nothing is streamed, blocks are counted. */
  #indexOf(responseId: string): number {
    if (this.#streaming?.id === responseId) return this.#streaming.index
    const index = this.#blockCounts.get(responseId) ?? 0
    this.#blockCounts.set(responseId, index + 1)
    return index
  }
}

/** The output of `/compact`, which has this form only. Other slash commands send messages of their own type. */
export function commandOutputIn({
  message: { content },
  uuid,
}: UserMessage): { uuid: Uuid; content: string } | null {
  if (typeof content !== 'string' || uuid === undefined) return null
  const printed = /^<local-command-(stdout|stderr)>([\s\S]*)<\/local-command-\1>$/.exec(content)
  return printed && { uuid, content: printed[2]! }
}

function blockId(responseId: string, index: number): string {
  return `${responseId}.${index}`
}

function partialBlock(deltas: StreamedDelta[]): ReportedEvent {
  const first = deltas[0]!
  const text = deltas
    .map((delta) => (delta.type === 'tool_call_delta' ? delta.partialInput : delta.text))
    .join('')
  switch (first.type) {
    case 'text_delta':
      return { type: 'text', blockId: first.blockId, text, partial: true }
    case 'thinking_delta':
      return { type: 'thinking', blockId: first.blockId, text, partial: true }
    case 'tool_call_delta': {
      const { toolCallId, toolName } = first
      return { type: 'tool_call', toolCallId, toolName, input: text, partial: true }
    }
  }
}

function isResult(block: { type: string }): block is ToolResultBlock {
  return block.type === 'tool_result'
}

/** The sentence that Claude Code gives its model as the result of an interrupted call. */
function isInterruptedOutput(output: Json): boolean {
  return (
    typeof output === 'string' && output.startsWith("The user doesn't want to proceed with this tool use.")
  )
}

/** Joins the parts if all of them are text. */
function outputOf(content: unknown): Json {
  if (content === undefined || content === null) return ''
  if (!Array.isArray(content)) return copyJson(content, 'output')
  const texts = content.map((part: unknown) => (isText(part) ? part.text : null))
  return texts.includes(null) ? copyJson(content, 'output') : texts.join('\n')
}

function isText(part: unknown): part is { type: 'text'; text: string } {
  return typeof part === 'object' && part !== null && 'type' in part && part.type === 'text'
}
