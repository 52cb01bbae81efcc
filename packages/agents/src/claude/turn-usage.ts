import type { ResultMessage } from './sdk.js'

interface Usage {
  costUsd: number
  inputTokens: number
  outputTokens: number
}

/** What a turn took: one turn may have several results. */
export class TurnUsage {
  #sum: Usage | null = null
  /** A program counts its cost from its own start. */
  #costBefore = 0

  count({ total_cost_usd: cost, usage }: ResultMessage): void {
    const { costUsd, inputTokens, outputTokens } = this.#sum ?? {
      costUsd: 0,
      inputTokens: 0,
      outputTokens: 0,
    }
    this.#sum = {
      costUsd: costUsd + cost - this.#costBefore,
      inputTokens: inputTokens + usage.input_tokens,
      outputTokens: outputTokens + usage.output_tokens,
    }
    this.#costBefore = cost
  }

  newProgram(): void {
    this.#costBefore = 0
  }

  /** Of the turn that ends; the next one starts at nothing. */
  take(): Usage | null {
    const sum = this.#sum
    this.#sum = null
    return sum
  }
}
