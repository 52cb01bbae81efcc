import type { ReportedEvent } from '@askback/core'
import { copyJson, type Json } from '@askback/protocol'
import type { AcpToolCall } from './protocol.js'

/** A tool call with everything that the agent has said about it so far. */
export interface KnownCall {
  call: AcpToolCall
  toolName: string
  input: Json
}

/**
 * The tool calls of a turn. Agents describe a call in several updates, but a call in the log never changes. So it is logged
 * only when it starts to run, or when a person is asked about it: until then updates can complete its input.
 */
export class ToolCalls {
  readonly #calls = new Map<string, AcpToolCall>()
  readonly #logged = new Set<string>()
  readonly #ended = new Set<string>()

  /** Returns the events for the log. */
  update(update: AcpToolCall): ReportedEvent[] {
    const call = this.#merge(update)
    const hasStarted = call.status !== undefined && call.status !== 'pending'
    const events = hasStarted ? this.log(call.toolCallId) : []
    const hasEnded = call.status === 'completed' || call.status === 'failed'
    if (!hasEnded || this.#ended.has(call.toolCallId)) return events
    this.#ended.add(call.toolCallId)
    const result = {
      type: 'tool_result',
      toolCallId: call.toolCallId,
      output: outputOf(call),
      isError: call.status === 'failed',
    } as const
    return [...events, result]
  }

  /** Returns the event that logs the call as it is known now; none if it is logged already. */
  log(toolCallId: string): ReportedEvent[] {
    const call = this.#calls.get(toolCallId)
    if (!call || this.#logged.has(toolCallId)) return []
    this.#logged.add(toolCallId)
    return [{ type: 'tool_call', toolCallId, source: 'agent', ...toolAndInput(call) }]
  }

  /**
   * Adds what a permission request says about its call. Some agents describe the call there for the first time. Others name
   * only a part of the input that they have sent before.
   */
  mergeRequest(update: AcpToolCall): void {
    const known = this.#calls.get(update.toolCallId)?.rawInput
    const { rawInput } = update
    const isPart = isObject(known) && isObject(rawInput)
    this.#merge(isPart ? { ...update, rawInput: { ...known, ...rawInput } } : update)
  }

  get(toolCallId: string): KnownCall {
    const call = this.#calls.get(toolCallId) ?? { toolCallId }
    return { call, ...toolAndInput(call) }
  }

  /** The call if it has an input and is not logged yet. */
  getUnlogged(toolCallId: string): KnownCall | null {
    const call = this.#calls.get(toolCallId)
    return call && hasInput(call) && !this.#logged.has(toolCallId) ? this.get(toolCallId) : null
  }

  hasEnded(toolCallId: string): boolean {
    return this.#ended.has(toolCallId)
  }

  /** Returns the events for calls that never started, at the end of a turn. */
  logRest(): ReportedEvent[] {
    return [...this.#calls.keys()].flatMap((id) => this.log(id))
  }

  toolNameOf(toolCallId: string): string | undefined {
    const call = this.#calls.get(toolCallId)
    return call && toolAndInput(call).toolName
  }

  #merge(update: AcpToolCall): AcpToolCall {
    const given = Object.entries(update).filter(([, value]) => value !== null && value !== undefined)
    const { toolCallId } = update
    const call = { ...this.#calls.get(toolCallId), ...Object.fromEntries(given), toolCallId }
    this.#calls.set(toolCallId, call)
    return call
  }
}

export function diffsOf({ content }: AcpToolCall): { path: string; oldText: string; newText: string }[] {
  return (content ?? []).flatMap((part) =>
    part.type === 'diff' ? [{ path: part.path, oldText: part.oldText ?? '', newText: part.newText }] : [],
  )
}

export function hasInput({ rawInput }: AcpToolCall): boolean {
  if (rawInput === undefined || rawInput === null) return false
  return typeof rawInput !== 'object' || Object.keys(rawInput).length > 0
}

function toolAndInput(call: AcpToolCall): { toolName: string; input: Json } {
  const { name, kind, title, rawInput, locations } = call
  const toolName = name ?? (kind === 'execute' ? 'shell' : (kind ?? 'tool'))
  if (hasInput(call)) return { toolName, input: copyJson(rawInput, 'input') }
  const paths = locations?.map(({ path }) => path) ?? []
  // Without an input only the diff says what is approved, so the digest of the approval must cover it.
  const changes = diffsOf(call)
  const input = {
    ...(title && { title }),
    ...(paths.length > 0 && { paths }),
    ...(changes.length > 0 && { changes }),
  }
  return { toolName, input: copyJson(input, 'input') }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function outputOf({ content, rawOutput }: AcpToolCall): Json {
  const texts = content?.flatMap((part) =>
    part.type === 'content' && part.content.text !== undefined ? [part.content.text] : [],
  )
  if (texts && texts.length > 0) return texts.join('\n')
  return rawOutput === undefined ? '' : copyJson(rawOutput, 'output')
}
