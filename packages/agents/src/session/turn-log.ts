/**
 * Writes what an agent does into the session's log, as events of the turn that it happens in. All adapters share this class:
 * they translate their agent's messages into events, and the turn log knows which turn is open.
 *
 *     closed ── begin, start ──▶ open ── report … ──▶ open ── end ──▶ closed
 *
 * Events that are reported while no turn is open belong to the session only.
 */
import type { AgentContext, LiveDelta, ReportedEvent } from '@askback/core'
import { AGENT_LOST } from '@askback/core/internal'
import type { Json } from '@askback/protocol'

export type TurnEndReason = 'done' | 'error' | 'interrupted'

/** What a turn has used. Only Claude reports its cost. */
export interface TurnUsage {
  costUsd?: number
  inputTokens: number
  outputTokens: number
}

export class TurnLog {
  readonly #context: Pick<AgentContext, 'report' | 'live'>
  readonly #newId: () => string
  #turnId: string | null = null
  #usage: TurnUsage | null = null
  #atEnd: ReportedEvent[] = []
  readonly #onceAccepted = new Map<string, ReportedEvent[]>()
  #hasReportedRetry = false

  constructor(context: Pick<AgentContext, 'report' | 'live'>, newId: () => string) {
    this.#context = context
    this.#newId = newId
  }

  get turnId(): string | null {
    return this.#turnId
  }

  get isOpen(): boolean {
    return this.#turnId !== null
  }

  /** The log has this turn already. */
  begin(turnId: string): void {
    this.#turnId = turnId
  }

  /** Starts a turn in the log, unless one is open. */
  async start(): Promise<void> {
    if (this.#turnId !== null) return
    this.#turnId = this.#newId()
    await this.#context.report({ type: 'turn_started', turnId: this.#turnId })
  }

  /** Resolves when the events are durable. */
  async report(...events: ReportedEvent[]): Promise<void> {
    const turnId = this.#turnId
    if (events.length === 0) return
    await this.#context.report(...events.map((event) => (turnId === null ? event : { turnId, ...event })))
  }

  /** Shows a part of an unfinished block. The log never has it. */
  live(delta: LiveDelta): void {
    this.#context.live(delta)
  }

  reportToolResult(toolCallId: string, output: Json, isError: boolean): Promise<void> {
    return this.report({ type: 'tool_result', toolCallId, output, isError })
  }

  /** Tells people something that is no failure of the turn. The log has no event but `error` for that. */
  reportNotice(code: string, message: string): Promise<void> {
    return this.report({ type: 'error', code, message, fatal: false })
  }

  reportLostConversation(agentName: string): Promise<void> {
    return this.reportNotice(
      AGENT_LOST,
      `${agentName} has lost the earlier conversation. It starts a new one, and gets the record of this session.`,
    )
  }

  /**
   * Codex retries without an end, so a person must learn why nothing happens. Once is enough, until `programTurnStarts`.
   */
  async reportRetry(message: string): Promise<void> {
    if (this.#hasReportedRetry) return
    this.#hasReportedRetry = true
    await this.reportNotice('agent_retries', message)
  }

  /** A turn of a session may consist of several turns of the agent's program. */
  programTurnStarts(): void {
    this.#hasReportedRetry = false
  }

  /** The agent's list of things to do. Each new state of the list is a tool call of its own. */
  reportTodoList(input: Json): Promise<void> {
    const toolCallId = this.#newId()
    return this.report(
      { type: 'tool_call', toolCallId, toolName: 'update_plan', input, source: 'agent' },
      { type: 'tool_result', toolCallId, output: '', isError: false },
    )
  }

  /** Reports the event together with the end of the turn. */
  reportAtEnd(event: ReportedEvent): void {
    this.#atEnd.push(event)
  }

  /**
   * Reports the events when the agent has accepted the message that contains them. If the agent is lost before that, the
   * log still shows that its model does not know them.
   */
  reportOnceAccepted(messageId: string, events: ReportedEvent[]): void {
    this.#onceAccepted.set(messageId, events)
  }

  async messageAccepted(messageId: string): Promise<void> {
    const events = this.#onceAccepted.get(messageId) ?? []
    this.#onceAccepted.delete(messageId)
    await this.report(...events)
  }

  addUsage({ costUsd, inputTokens, outputTokens }: TurnUsage): void {
    const before = this.#usage
    this.#usage = {
      ...(costUsd !== undefined && { costUsd: (before?.costUsd ?? 0) + costUsd }),
      inputTokens: (before?.inputTokens ?? 0) + inputTokens,
      outputTokens: (before?.outputTokens ?? 0) + outputTokens,
    }
  }

  /** Ends the turn after these events, if one is open. */
  async end(reason: TurnEndReason, ...events: ReportedEvent[]): Promise<void> {
    const turnId = this.#turnId
    const usage = this.#usage
    const all = [...this.takeUnfinished(), ...this.#atEnd, ...events]
    this.#turnId = null
    this.#usage = null
    this.#atEnd = []
    this.#onceAccepted.clear()
    if (turnId === null) return
    await this.#context.report(...all.map((event) => ({ turnId, ...event })), {
      type: 'turn_ended',
      turnId,
      reason,
      ...(usage && { usage }),
    })
  }

  /** Blocks that were shown in part and will not be finished. */
  protected takeUnfinished(): ReportedEvent[] {
    return []
  }
}

/** An error of the agent, to be reported with the end of its turn. */
export function agentError(message: string): ReportedEvent {
  return { type: 'error', code: 'agent_error', message, fatal: false }
}
