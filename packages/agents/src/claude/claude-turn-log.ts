import type { AgentContext, Clock, ReportedEvent } from '@askback/core'
import { copyJson } from '@askback/protocol'
import { pause } from '../session/call-request.js'
import { TurnLog } from '../session/turn-log.js'
import type { ClaudeCall } from './hooks.js'
import { commandOutputIn, MessageReader } from './message-reader.js'
import type {
  AssistantMessage,
  CommandOutputMessage,
  KnownMessage,
  ResultMessage,
  StreamMessage,
  UserMessage,
} from './sdk.js'

/** How long a tool call may take on the message stream after the request about it has arrived. */
const STREAM_DELAY_MS = 2000

/** The turn log of Claude: translates the messages of the SDK into events. */
export class ClaudeTurnLog extends TurnLog {
  readonly calls: OpenCalls
  #reader = new MessageReader()
  /** The SDK reports the cost since the start of the program, not of the turn. */
  #costBeforeUsd = 0

  constructor(
    context: Pick<AgentContext, 'report' | 'live'>,
    { clock, newId }: { clock: Clock; newId: () => string },
  ) {
    super(context, newId)
    this.calls = new OpenCalls(clock, (event) => this.report(event))
  }

  /** `isInterrupted`: the agent was interrupted before it sent the message, so its blocks may be incomplete. */
  async record(message: Exclude<KnownMessage, ResultMessage>, isInterrupted = false): Promise<void> {
    switch (message.type) {
      case 'stream_event':
        return this.#recordDelta(message)
      case 'assistant':
        return this.#recordBlocks(message, isInterrupted)
      case 'user':
        return this.#recordResults(message)
      case 'conversation_reset':
        return this.#recordReset()
      case 'system':
        if (message.subtype === 'init')
          return this.report({ type: 'agent_session', agentSessionId: message.session_id })
        if (message.subtype === 'local_command_output') return this.#recordCommandOutput(message)
    }
  }

  /** The next messages come from another process of Claude Code. */
  newConversation(): void {
    this.#reader = new MessageReader()
    this.#costBeforeUsd = 0
  }

  /** After this the agent's conversation so far is never resumed. */
  async reportForgottenContext(): Promise<void> {
    await this.report({ type: 'context_cleared' })
  }

  async reportMissingPlan({ message }: { message: string }): Promise<void> {
    await this.reportNotice('plan_missing', message)
  }

  addResultUsage({ total_cost_usd: costUsd, usage }: ResultMessage): void {
    this.addUsage({
      costUsd: costUsd - this.#costBeforeUsd,
      inputTokens: usage.input_tokens,
      outputTokens: usage.output_tokens,
    })
    this.#costBeforeUsd = costUsd
  }

  protected override takeUnfinished(): ReportedEvent[] {
    return this.#reader.takeUnfinished()
  }

  async #recordDelta(message: StreamMessage): Promise<void> {
    const isMain = message.parent_tool_use_id === null
    if (isMain && message.event.type === 'message_start') await this.report(...this.takeUnfinished())
    const delta = this.#reader.delta(message)
    if (delta) this.live(delta)
  }

  async #recordBlocks(message: AssistantMessage, isInterrupted: boolean): Promise<void> {
    // Claude Code's own message about an error comes again as the result.
    if (message.error !== undefined) return
    // Claude Code starts a turn by itself when a task in the background has ended.
    await this.start()
    const events = this.#reader.blocks(message, isInterrupted)
    await this.report(...events)
    for (const event of events) if (event.type === 'tool_call') this.calls.add(event.toolCallId)
  }

  async #recordResults(message: UserMessage): Promise<void> {
    const output = commandOutputIn(message)
    if (output !== null) return this.#recordCommandOutput(output)
    // Leaves out results of calls that the log does not have, and second results.
    const results = this.#reader.results(message).filter(({ toolCallId }) => this.calls.close(toolCallId))
    await this.report(...results)
  }

  /** `/clear`: the same process continues with an empty context, and counts its cost from zero. */
  async #recordReset(): Promise<void> {
    this.#costBeforeUsd = 0
    await this.reportForgottenContext()
  }

  /** The output of a slash command is shown as text of the agent. */
  async #recordCommandOutput({
    uuid,
    content,
  }: Pick<CommandOutputMessage, 'uuid' | 'content'>): Promise<void> {
    const text = content.trim()
    if (text !== '') await this.report({ type: 'text', blockId: uuid, text })
  }
}

/**
 * The tool calls without a result. Claude Code sends a call on its message stream, and asks about it in a callback. Either
 * may come first, but a request must find its call in the log.
 */
export class OpenCalls {
  readonly #open = new Set<string>()
  readonly #waiters = new Map<string, () => void>()
  readonly #clock: Clock
  readonly #report: (event: ReportedEvent) => Promise<void>

  constructor(clock: Clock, report: (event: ReportedEvent) => Promise<void>) {
    this.#clock = clock
    this.#report = report
  }

  /** The log has this call now. */
  add(toolCallId: string): void {
    this.#open.add(toolCallId)
    this.#waiters.get(toolCallId)?.()
  }

  /** Waits for the message stream, which also brings what the agent said before the call. Logs the call itself if needed. */
  async waitUntilLogged(call: ClaudeCall): Promise<void> {
    const { toolUseID: id } = call
    if (this.#open.has(id)) return
    const streamed = new AbortController()
    this.#waiters.set(id, () => streamed.abort())
    await pause(this.#clock, STREAM_DELAY_MS, streamed.signal)
    this.#waiters.delete(id)
    if (!streamed.signal.aborted) await this.log(call)
  }

  /** Logs the call without waiting for the message stream. */
  async log({ toolUseID, toolName, input }: ClaudeCall): Promise<void> {
    this.#open.add(toolUseID)
    const call = { toolCallId: toolUseID, toolName, input: copyJson(input, 'input') }
    await this.#report({ type: 'tool_call', ...call, source: 'agent' })
  }

  isOnlyOpen(toolCallId: string): boolean {
    return this.#open.size === 1 && this.#open.has(toolCallId)
  }

  /** Returns whether the call was open. */
  close(toolCallId: string): boolean {
    return this.#open.delete(toolCallId)
  }
}
