import type { Reported } from '@askback/core'
import { copyJson, type Json } from '@askback/protocol'
import type { ToolCall } from './protocol.js'

/** A call as it is known now. */
export interface KnownCall {
  call: ToolCall
  toolName: string
  input: Json
}

/**
 * Tool calls as they become known, piece by piece. The log takes a call once and never changes it, so it is written when the
 * call starts or somebody is asked about it: until then updates can still complete its input.
 */
export class Calls {
  readonly #calls = new Map<string, ToolCall>()
  readonly #told = new Set<string>()
  readonly #ended = new Set<string>()

  /** What an update of a call adds to the log. */
  update(update: ToolCall): Reported[] {
    const call = this.#merge(update)
    const hasStarted = call.status !== undefined && call.status !== 'pending'
    const events = hasStarted ? this.tell(call.toolCallId) : []
    if (!isEnded(call) || this.#ended.has(call.toolCallId)) return events
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

  /**
   * Adds what a permission request says of it: some agents tell of a call there for the first time, others name only a part
   * of the input that they have told before.
   */
  ask(update: ToolCall): void {
    const told = this.#calls.get(update.toolCallId)?.rawInput
    const { rawInput } = update
    const isPart = isObject(told) && isObject(rawInput)
    this.#merge(isPart ? { ...update, rawInput: { ...told, ...rawInput } } : update)
  }

  known(toolCallId: string): KnownCall {
    const call = this.#calls.get(toolCallId) ?? { toolCallId }
    return { call, ...describe(call) }
  }

  /** Its input, if it is not in the log yet: `null` once it is, or while there is none. */
  unfinished(toolCallId: string): KnownCall | null {
    const call = this.#calls.get(toolCallId)
    return call && hasInput(call) && !this.#told.has(toolCallId) ? this.known(toolCallId) : null
  }

  hasEnded(toolCallId: string): boolean {
    return this.#ended.has(toolCallId)
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
  // Without an input the diff is all that says what is approved, so the digest must cover it.
  const changes = diffsOf(call)
  const input = {
    ...(title && { title }),
    ...(paths.length > 0 && { paths }),
    ...(changes.length > 0 && { changes }),
  }
  return { toolName, input: copyJson(input, 'input') }
}

export function diffsOf({ content }: ToolCall): { path: string; oldText: string; newText: string }[] {
  return (content ?? []).flatMap((part) =>
    part.type === 'diff' ? [{ path: part.path, oldText: part.oldText ?? '', newText: part.newText }] : [],
  )
}

function isEnded({ status }: ToolCall): boolean {
  return status === 'completed' || status === 'failed'
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function hasInput({ rawInput }: ToolCall): boolean {
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
