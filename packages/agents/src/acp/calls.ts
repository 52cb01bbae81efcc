import type { Reported } from '@askback/core'
import { copyJson, type Json } from '@askback/protocol'
import type { ToolCall } from './protocol.js'

/** Tool calls as they become known, piece by piece. A call stands in the log once its input is whole. */
export class Calls {
  readonly #calls = new Map<string, ToolCall>()
  readonly #told = new Set<string>()
  readonly #ended = new Set<string>()

  /** What an update of a call adds to the log. */
  update(update: ToolCall): Reported[] {
    const call = this.#merge(update)
    const isEnded = call.status === 'completed' || call.status === 'failed'
    const isKnown = hasInput(call) || (call.status !== undefined && call.status !== 'pending')
    const events = isKnown ? this.tell(call.toolCallId) : []
    if (!isEnded || this.#ended.has(call.toolCallId)) return events
    this.#ended.add(call.toolCallId)
    const result = {
      type: 'tool_result',
      toolCallId: call.toolCallId,
      output: outputOf(call),
      isError: call.status === 'failed',
    } as const
    return [...events, result]
  }

  /** Puts it into the log as far as it is known: somebody is asked about it, or it will not become clearer. */
  tell(toolCallId: string): Reported[] {
    const call = this.#calls.get(toolCallId)
    if (!call || this.#told.has(toolCallId)) return []
    this.#told.add(toolCallId)
    return [{ type: 'tool_call', toolCallId, source: 'agent', ...describe(call) }]
  }

  /** With what a permission request says of it: some agents tell of a call there for the first time. */
  asked(update: ToolCall): { call: ToolCall; toolName: string; input: Json } {
    const call = this.#merge(update)
    return { call, ...describe(call) }
  }

  /** Those that were never told of, at the end of a turn. */
  rest(): Reported[] {
    return [...this.#calls.keys()].flatMap((id) => this.tell(id))
  }

  nameOf(toolCallId: string): string | undefined {
    const call = this.#calls.get(toolCallId)
    return call && describe(call).toolName
  }

  #merge(update: ToolCall): ToolCall {
    const given = Object.entries(update).filter(([, value]) => value !== null && value !== undefined)
    const { toolCallId } = update
    const call = { ...this.#calls.get(toolCallId), ...Object.fromEntries(given), toolCallId }
    this.#calls.set(toolCallId, call)
    return call
  }
}

function describe(call: ToolCall): { toolName: string; input: Json } {
  const { name, kind, title, rawInput, locations } = call
  const toolName = name ?? (kind === 'execute' ? 'shell' : (kind ?? 'tool'))
  if (hasInput(call)) return { toolName, input: copyJson(rawInput, 'input') }
  const paths = locations?.map(({ path }) => path) ?? []
  return { toolName, input: { ...(title && { title }), ...(paths.length > 0 && { paths }) } }
}

function hasInput({ rawInput }: ToolCall): boolean {
  if (rawInput === undefined || rawInput === null) return false
  return typeof rawInput !== 'object' || Object.keys(rawInput).length > 0
}

function outputOf({ content, rawOutput }: ToolCall): Json {
  const texts = content?.flatMap((part) =>
    part.type === 'content' && part.content.text !== undefined ? [part.content.text] : [],
  )
  if (texts && texts.length > 0) return texts.join('\n')
  return rawOutput === undefined ? '' : copyJson(rawOutput, 'output')
}
