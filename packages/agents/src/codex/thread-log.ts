import type { AgentContext } from '@askback/core'
import type { Json } from '@askback/protocol'
import type { Params } from '../program/peer.js'
import type { Turn } from '../session/turn.js'
import type { FileChange, ThreadItem } from './app-server.js'
import { endOf, itemOf, startOf } from './items.js'

/** What a thread does, as events of the turn that it does it in. */
export class ThreadLog {
  readonly #context: AgentContext
  readonly #turn: Turn
  readonly #newId: () => string
  readonly #items = new Map<string, ThreadItem>()
  #hasToldRetry = false

  constructor(context: AgentContext, turn: Turn, newId: () => string) {
    this.#context = context
    this.#turn = turn
    this.#newId = newId
  }

  /** Calls that have not ended, from a log that was kept by somebody else. */
  take(calls: { toolCallId: string; toolName: string; input: Json; result?: unknown }[]): void {
    for (const { toolCallId, toolName, input, result } of calls) {
      const item = result === undefined && itemOf(toolCallId, toolName, input)
      if (item) this.#items.set(toolCallId, item)
    }
  }

  async heard(method: string, params: Params): Promise<void> {
    switch (method) {
      case 'item/started':
        return this.started((params as { item: ThreadItem } & Params).item)
      case 'item/completed':
        return this.completed((params as { item: ThreadItem } & Params).item)
      case 'item/agentMessage/delta':
        return this.#delta('text_delta', params)
      case 'item/reasoning/summaryTextDelta':
        return this.#delta('thinking_delta', params)
      case 'item/commandExecution/outputDelta':
        return this.#context.live({
          type: 'tool_output_delta',
          toolCallId: params['itemId'] as string,
          text: params['delta'] as string,
        })
      case 'turn/plan/updated':
        return this.#planUpdated(params)
      case 'thread/tokenUsage/updated': {
        const { last } = params['tokenUsage'] as { last: { inputTokens: number; outputTokens: number } }
        return this.#turn.count(last)
      }
      case 'error':
        return this.#retries(params)
    }
  }

  async started(item: ThreadItem): Promise<void> {
    this.#items.set(item.id, item)
    const event = startOf(item)
    if (event) await this.#turn.report(event)
  }

  async completed(item: ThreadItem): Promise<void> {
    if (item.type === 'plan') this.#items.set(item.id, item)
    else this.#items.delete(item.id)
    await this.#turn.report(...endOf(item))
  }

  /** The program's turn is over; gives the plan that it ended with. */
  end(): { id: string; text: string } | null {
    const plan = [...this.#items.values()].find((item) => item.type === 'plan')
    this.#items.clear()
    this.#hasToldRetry = false
    return plan?.type === 'plan' ? plan : null
  }

  changesOf(itemId: string): FileChange[] {
    const item = this.#items.get(itemId)
    return item?.type === 'fileChange' ? item.changes : []
  }

  /** The last call to an MCP server that has not ended. */
  callTo(server: string): { toolCallId: string; toolName: string; input: Json } | null {
    const open = [...this.#items.values()].findLast(
      (item) => item.type === 'mcpToolCall' && item.server === server,
    )
    return open ? startOf(open) : null
  }

  #delta(type: 'text_delta' | 'thinking_delta', params: Params): void {
    this.#context.live({ type, blockId: params['itemId'] as string, text: params['delta'] as string })
  }

  /** Its list of things to do, as it stands: each state of it is a call of its own. */
  async #planUpdated({ plan, explanation }: Params): Promise<void> {
    const toolCallId = this.#newId()
    const input = { plan: plan as Json, ...(typeof explanation === 'string' && { explanation }) }
    await this.#turn.report(
      { type: 'tool_call', toolCallId, toolName: 'update_plan', input, source: 'agent' },
      { type: 'tool_result', toolCallId, output: '', isError: false },
    )
  }

  /** It tries again for as long as it takes, so a person should know why nothing happens. */
  async #retries({ error, willRetry }: Params): Promise<void> {
    const { message } = error as { message: string }
    if (!willRetry || this.#hasToldRetry) return
    this.#hasToldRetry = true
    await this.#turn.report({ type: 'error', code: 'agent_retries', message, fatal: false })
  }
}
