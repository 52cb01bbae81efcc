import type { Json } from '@askback/protocol'
import type { TurnLog } from '../session/turn-log.js'
import type { FileChange, ThreadItem, ThreadNotification } from './app-server-protocol.js'
import { completedEvents, itemOfCall, toolCallOf } from './events.js'

/** Translates the notifications of a Codex thread into events of the turn log. */
export class ThreadLog {
  readonly #turnLog: TurnLog
  /** Unfinished items, and the plan of the program's current turn. */
  readonly #items = new Map<string, ThreadItem>()

  constructor(turnLog: TurnLog) {
    this.#turnLog = turnLog
  }

  /** Adds the unfinished calls that an earlier gateway has logged. */
  addLogged(calls: { toolCallId: string; toolName: string; input: Json; result?: unknown }[]): void {
    for (const { toolCallId, toolName, input, result } of calls) {
      const item = result === undefined && itemOfCall(toolCallId, toolName, input)
      if (item) this.#items.set(toolCallId, item)
    }
  }

  async handle({ method, params }: ThreadNotification): Promise<void> {
    switch (method) {
      case 'item/started':
        return this.itemStarted(params.item)
      case 'item/completed':
        return this.itemCompleted(params.item)
      case 'item/agentMessage/delta':
        return this.#turnLog.live({ type: 'text_delta', blockId: params.itemId, text: params.delta })
      case 'item/reasoning/summaryTextDelta':
        return this.#turnLog.live({ type: 'thinking_delta', blockId: params.itemId, text: params.delta })
      case 'item/commandExecution/outputDelta':
        return this.#turnLog.live({
          type: 'tool_output_delta',
          toolCallId: params.itemId,
          text: params.delta,
        })
      case 'turn/plan/updated': {
        const { plan, explanation } = params
        const text = typeof explanation === 'string' && { explanation }
        return this.#turnLog.reportTodoList({ plan, ...text })
      }
      case 'thread/tokenUsage/updated':
        return this.#turnLog.addUsage(params.tokenUsage.last)
      case 'error':
        return params.willRetry ? this.#turnLog.reportRetry(params.error.message) : undefined
    }
  }

  async itemStarted(item: ThreadItem): Promise<void> {
    this.#items.set(item.id, item)
    const call = toolCallOf(item)
    if (call) await this.#turnLog.report(call)
  }

  async itemCompleted(item: ThreadItem): Promise<void> {
    if (item.type === 'plan') this.#items.set(item.id, item)
    else this.#items.delete(item.id)
    await this.#turnLog.report(...completedEvents(item))
  }

  /** Ends a turn of the program, and returns the plan that it has made. */
  endProgramTurn(): { id: string; text: string } | null {
    const plan = [...this.#items.values()].find((item) => item.type === 'plan')
    this.#items.clear()
    return plan?.type === 'plan' ? plan : null
  }

  changesOf(itemId: string): FileChange[] {
    const item = this.#items.get(itemId)
    return item?.type === 'fileChange' ? item.changes : []
  }

  /** The last unfinished call to an MCP server. */
  lastCallTo(server: string): { toolCallId: string; toolName: string; input: Json } | null {
    const item = [...this.#items.values()].findLast(
      (one) => one.type === 'mcpToolCall' && one.server === server,
    )
    return item ? toolCallOf(item) : null
  }
}
