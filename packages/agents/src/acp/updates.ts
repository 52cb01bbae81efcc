import type { AgentContext } from '@askback/core'
import { digestOf, type Json } from '@askback/protocol'
import type { Turn } from '../session/turn.js'
import { Calls, type KnownCall } from './calls.js'
import type { ModeUpdate, SessionUpdate, ToolCall } from './protocol.js'

/** What an agent does, as events of the turn that it does it in. */
export class Updates {
  readonly #context: AgentContext
  readonly #turn: Turn
  readonly #newId: () => string
  #calls = new Calls()
  /** By the id of the call that somebody is asked about. */
  readonly #watchers = new Map<string, Set<() => void>>()
  readonly #streaming = new Set<string>()
  #block: { type: 'text' | 'thinking'; blockId: string; text: string } | null = null

  constructor(context: AgentContext, turn: Turn, newId: () => string) {
    this.#context = context
    this.#turn = turn
    this.#newId = newId
  }

  async heard(update: Exclude<SessionUpdate, ModeUpdate>): Promise<void> {
    switch (update.sessionUpdate) {
      case 'agent_message_chunk':
        return this.#chunk('text', update.content.text ?? '')
      case 'agent_thought_chunk':
        return this.#chunk('thinking', update.content.text ?? '')
      case 'tool_call':
      case 'tool_call_update':
        await this.flush()
        return this.#call(update)
      case 'plan':
        await this.flush()
        return this.#plan(update.entries)
      case 'other':
        return
    }
  }

  /** Puts the call into the log that somebody is asked about. */
  async announce(update: ToolCall): Promise<void> {
    await this.flush()
    this.#calls.ask(update)
    await this.#turn.report(...this.#calls.tell(update.toolCallId))
  }

  known(toolCallId: string): KnownCall {
    return this.#calls.known(toolCallId)
  }

  /** Calls `changed` when an update changes what a person is asked about. Returns how to stop that. */
  watch(toolCallId: string, changed: () => void): () => void {
    const watchers = this.#watchers.get(toolCallId) ?? new Set()
    this.#watchers.set(toolCallId, watchers.add(changed))
    return () => {
      watchers.delete(changed)
      if (watchers.size === 0) this.#watchers.delete(toolCallId)
    }
  }

  nameOf(toolCallId: string): string | undefined {
    return this.#calls.nameOf(toolCallId)
  }

  /** A block is whole when something else begins. */
  async flush(): Promise<void> {
    const block = this.#block
    this.#block = null
    if (block) await this.#turn.report(block)
  }

  /** Everything that has been told of stands in the log then. */
  async finish(): Promise<void> {
    await this.flush()
    await this.#turn.report(...this.#calls.rest())
  }

  newTurn(): void {
    this.#calls = new Calls()
    this.#streaming.clear()
  }

  async #call(update: ToolCall): Promise<void> {
    const { toolCallId } = update
    const watchers = this.#watchers.get(toolCallId)
    const before = watchers && this.#digest(toolCallId)
    const events = this.#calls.update(update)
    this.#stream(toolCallId)
    await this.#turn.report(...events)
    if (!watchers || this.#calls.hasEnded(toolCallId) || this.#digest(toolCallId) === before) return
    for (const changed of watchers) changed()
  }

  /** Shows a call that waits to start, once, as far as it is known: the log gets it when it is complete. */
  #stream(toolCallId: string): void {
    const unfinished = this.#calls.unfinished(toolCallId)
    if (!unfinished || this.#streaming.has(toolCallId)) return
    this.#streaming.add(toolCallId)
    const { toolName, input } = unfinished
    this.#context.live({
      type: 'tool_call_delta',
      toolCallId,
      toolName,
      partialInput: JSON.stringify(input),
    })
  }

  #digest(toolCallId: string): string {
    const { toolName, input } = this.#calls.known(toolCallId)
    return digestOf(toolName, input)
  }

  async #chunk(type: 'text' | 'thinking', text: string): Promise<void> {
    if (text === '') return
    if (this.#block?.type !== type) await this.flush()
    this.#block ??= { type, blockId: this.#newId(), text: '' }
    this.#block.text += text
    const { blockId } = this.#block
    this.#context.live({ type: type === 'text' ? 'text_delta' : 'thinking_delta', blockId, text })
  }

  /** Its list of things to do, as it stands: each state of it is a call of its own. */
  async #plan(entries: object[]): Promise<void> {
    const toolCallId = this.#newId()
    const input = { entries: entries as Json }
    await this.#turn.report(
      { type: 'tool_call', toolCallId, toolName: 'update_plan', input, source: 'agent' },
      { type: 'tool_result', toolCallId, output: '', isError: false },
    )
  }
}
