import type { AgentContext, Reported } from '@askback/core'

interface Usage {
  inputTokens: number
  outputTokens: number
}

/** The turn of a session that its agent works in, and what the agent reports there. */
export class Turn {
  readonly #context: AgentContext
  #turnId: string | null = null
  #usage: Usage | null = null
  #atEnd: Reported[] = []

  constructor(context: AgentContext) {
    this.#context = context
  }

  get id(): string | null {
    return this.#turnId
  }

  get isOpen(): boolean {
    return this.#turnId !== null
  }

  /** It stands in the log already. */
  begin(turnId: string): void {
    this.#turnId = turnId
  }

  async report(...events: Reported[]): Promise<void> {
    const turnId = this.#turnId
    if (events.length === 0) return
    await this.#context.report(...events.map((event) => (turnId === null ? event : { turnId, ...event })))
  }

  /** Reported together with the end of the turn. */
  atEnd(event: Reported): void {
    this.#atEnd.push(event)
  }

  count({ inputTokens, outputTokens }: Usage): void {
    const before = this.#usage ?? { inputTokens: 0, outputTokens: 0 }
    this.#usage = {
      inputTokens: before.inputTokens + inputTokens,
      outputTokens: before.outputTokens + outputTokens,
    }
  }

  async end(reason: 'done' | 'error' | 'interrupted', ...events: Reported[]): Promise<void> {
    const turnId = this.#turnId
    const usage = this.#usage
    const all = [...this.#atEnd, ...events]
    this.#turnId = null
    this.#usage = null
    this.#atEnd = []
    if (turnId === null) return
    await this.#context.report(...all.map((event) => ({ turnId, ...event })), {
      type: 'turn_ended',
      turnId,
      reason,
      ...(usage && { usage }),
    })
  }
}
