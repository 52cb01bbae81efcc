import type { Append, Change, Store } from '@askback/core'

/** What a store that several processes share says of its changes: commits in order, and erasures without events. */
export class SharedChanges implements Pick<Store, 'changes' | 'head'> {
  readonly #changes: Change[] = []

  committed({ sessionId, events }: Append): void {
    this.#add(sessionId, events)
  }

  erased(sessionId: string): void {
    for (const change of this.#changes) if (change.sessionId === sessionId) change.events = []
    this.#add(sessionId, [])
  }

  changes({ after = '0', limit }: { after?: string; limit: number }): Promise<Change[]> {
    return Promise.resolve(
      this.#changes.slice(Number(after), Number(after) + limit).map((change) => ({ ...change })),
    )
  }

  head(): Promise<string> {
    return Promise.resolve(String(this.#changes.length))
  }

  #add(sessionId: string, events: Change['events']): void {
    this.#changes.push({ cursor: String(this.#changes.length + 1), sessionId, events })
  }
}
