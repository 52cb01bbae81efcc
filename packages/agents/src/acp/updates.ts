import type { AgentContext } from '@askback/core'
import type { Json } from '@askback/protocol'
import type { Turn } from '../session/turn.js'
import { Calls } from './calls.js'
import type { SessionUpdate, ToolCall } from './protocol.js'

/** What an agent does, as events of the turn that it does it in. */
export class Updates {
  readonly #context: AgentContext
  readonly #turn: Turn
  readonly #newId: () => string
  #calls = new Calls()
  #block: { type: 'text' | 'thinking'; blockId: string; text: string } | null = null

  constructor(context: AgentContext, turn: Turn, newId: () => string) {
    this.#context = context
    this.#turn = turn
    this.#newId = newId
  }

  async heard(update: SessionUpdate): Promise<void> {
    switch (update.sessionUpdate) {
      case 'agent_message_chunk':
        return this.#chunk('text', update.content.text ?? '')
      case 'agent_thought_chunk':
        return this.#chunk('thinking', update.content.text ?? '')
      case 'tool_call':
      case 'tool_call_update':
        await this.flush()
        return this.#turn.report(...this.#calls.update(update))
      case 'plan':
        await this.flush()
        return this.#plan(update.entries)
      case 'other':
        return
    }
  }

  /** The call that somebody is asked about, as it is known now; it stands in the log. */
  async announce(update: ToolCall): Promise<{ call: ToolCall; toolName: string; input: Json }> {
    await this.flush()
    const asked = this.#calls.asked(update)
    await this.#turn.report(...this.#calls.tell(update.toolCallId))
    return asked
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
