import type { Clock, Reported } from '@askback/core'
import { copyJson } from '@askback/protocol'
import { pause } from '../session/asking.js'
import type { Call } from './hooks.js'

const LATE_MS = 2000

/** The tool calls of a process. The agent asks about a call and streams it on two ways that do not wait for each other. */
export class Calls {
  readonly #open = new Set<string>()
  readonly #waiting = new Map<string, () => void>()
  readonly #clock: Clock
  readonly #report: (event: Reported) => Promise<void>

  constructor(clock: Clock, report: (event: Reported) => Promise<void>) {
    this.#clock = clock
    this.#report = report
  }

  /** These stand in the log now. */
  reported(events: Reported[]): void {
    for (const event of events) {
      if (event.type !== 'tool_call') continue
      this.#open.add(event.toolCallId)
      this.#waiting.get(event.toolCallId)?.()
    }
  }

  /** Resolves when the call stands in the log, behind what the agent said before it; puts it there if nobody does. */
  async announce({ toolUseID, toolName, input }: Call): Promise<void> {
    if (this.#open.has(toolUseID)) return
    const streamed = new AbortController()
    this.#waiting.set(toolUseID, () => streamed.abort())
    await pause(this.#clock, LATE_MS, streamed.signal)
    this.#waiting.delete(toolUseID)
    if (!streamed.signal.aborted) await this.put({ toolUseID, toolName, input })
  }

  /** Puts the call into the log without waiting for the stream. */
  async put({ toolUseID, toolName, input }: Pick<Call, 'toolUseID' | 'toolName' | 'input'>): Promise<void> {
    this.#open.add(toolUseID)
    const call = { toolCallId: toolUseID, toolName, input: copyJson(input, 'input') }
    await this.#report({ type: 'tool_call', ...call, source: 'agent' })
  }

  /** Whether no other call is open. */
  isSole(toolCallId: string): boolean {
    return this.#open.size === 1 && this.#open.has(toolCallId)
  }

  /** Whether it was open. Results of calls that nobody told of, or told of twice, are left out. */
  end(event: Reported | { toolCallId: string }): boolean {
    return 'toolCallId' in event && this.#open.delete(event.toolCallId)
  }
}
