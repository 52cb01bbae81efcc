import { digestOf } from '@askback/protocol'
import type { TurnLog } from '../session/turn-log.js'
import type { ModeUpdate, SessionUpdate, AcpToolCall } from './protocol.js'
import { ToolCalls, type KnownCall } from './tool-calls.js'

/** Gemini CLI reports a change of its mode as a message, which is not meant for people. */
const GEMINI_MODE_NOTE = /^\[MODE_UPDATE\] \w+$/u

/** Translates the updates of an agent's session into events of the turn log. */
export class SessionUpdates {
  readonly #turnLog: TurnLog
  readonly #newId: () => string
  #calls = new ToolCalls()
  /** Callbacks by the id of the call that a person is asked about. */
  readonly #watchers = new Map<string, Set<() => void>>()
  readonly #shownCalls = new Set<string>()
  /** The text that the agent is writing. Its parts have no id, so a block ends when something else begins. */
  #block: { type: 'text' | 'thinking'; blockId: string; text: string } | null = null

  constructor(turnLog: TurnLog, newId: () => string) {
    this.#turnLog = turnLog
    this.#newId = newId
  }

  async handle(update: Exclude<SessionUpdate, ModeUpdate>): Promise<void> {
    switch (update.sessionUpdate) {
      case 'agent_message_chunk':
        if (GEMINI_MODE_NOTE.test(update.content.text ?? '')) return
        return this.#addText('text', update.content.text ?? '')
      case 'agent_thought_chunk':
        return this.#addText('thinking', update.content.text ?? '')
      case 'tool_call':
      case 'tool_call_update':
        await this.endBlock()
        return this.#updateCall(update)
      case 'plan':
        await this.endBlock()
        return this.#turnLog.reportTodoList({ entries: update.entries })
      case 'other':
        return
    }
  }

  /** Logs the call that a person is about to be asked about. */
  async logRequestedCall(update: AcpToolCall): Promise<void> {
    await this.endBlock()
    this.#calls.mergeRequest(update)
    await this.#turnLog.report(...this.#calls.log(update.toolCallId))
  }

  getCall(toolCallId: string): KnownCall {
    return this.#calls.get(toolCallId)
  }

  toolNameOf(toolCallId: string): string | undefined {
    return this.#calls.toolNameOf(toolCallId)
  }

  /** Calls `onChange` when an update changes the tool or input of the call. Returns a function that stops this. */
  watchCall(toolCallId: string, onChange: () => void): () => void {
    const watchers = this.#watchers.get(toolCallId) ?? new Set()
    this.#watchers.set(toolCallId, watchers.add(onChange))
    return () => {
      watchers.delete(onChange)
      if (watchers.size === 0) this.#watchers.delete(toolCallId)
    }
  }

  async endBlock(): Promise<void> {
    const block = this.#block
    this.#block = null
    if (block) await this.#turnLog.report(block)
  }

  /** Logs everything that the agent has reported and that is not logged yet. */
  async logRest(): Promise<void> {
    await this.endBlock()
    await this.#turnLog.report(...this.#calls.logRest())
  }

  reset(): void {
    this.#calls = new ToolCalls()
    this.#shownCalls.clear()
  }

  async #updateCall(update: AcpToolCall): Promise<void> {
    const { toolCallId } = update
    const watchers = this.#watchers.get(toolCallId)
    const before = watchers && this.#digest(toolCallId)
    const events = this.#calls.update(update)
    this.#showUnlogged(toolCallId)
    await this.#turnLog.report(...events)
    if (!watchers || this.#calls.hasEnded(toolCallId) || this.#digest(toolCallId) === before) return
    for (const onChange of watchers) onChange()
  }

  /** Shows a call that has not started yet, once, with the input known so far. It is logged when it is complete. */
  #showUnlogged(toolCallId: string): void {
    const unlogged = this.#calls.getUnlogged(toolCallId)
    if (!unlogged || this.#shownCalls.has(toolCallId)) return
    this.#shownCalls.add(toolCallId)
    const { toolName, input } = unlogged
    const partialInput = JSON.stringify(input)
    this.#turnLog.live({ type: 'tool_call_delta', toolCallId, toolName, partialInput })
  }

  #digest(toolCallId: string): string {
    const { toolName, input } = this.#calls.get(toolCallId)
    return digestOf(toolName, input)
  }

  async #addText(type: 'text' | 'thinking', text: string): Promise<void> {
    if (text === '') return
    if (this.#block?.type !== type) await this.endBlock()
    this.#block ??= { type, blockId: this.#newId(), text: '' }
    this.#block.text += text
    const { blockId } = this.#block
    this.#turnLog.live({ type: type === 'text' ? 'text_delta' : 'thinking_delta', blockId, text })
  }
}
