import { AskbackError } from '@askback/protocol'
import type { AgentAdapter, Availability } from './agent.js'

/** The agents that may run here. */
export class AgentList {
  readonly adapters: readonly AgentAdapter[]

  constructor(adapters: readonly AgentAdapter[]) {
    this.adapters = adapters
  }

  find(id: string | null): AgentAdapter | undefined {
    return this.adapters.find((adapter) => adapter.id === id)
  }

  async check(): Promise<(Availability & { id: string; name: string })[]> {
    return Promise.all(
      this.adapters.map(async (adapter) => ({
        id: adapter.id,
        name: adapter.name,
        ...(await availability(adapter)),
      })),
    )
  }

  /** That of this id, or the first that is available. */
  async choose(id: string | undefined): Promise<string> {
    for (const adapter of this.adapters) {
      if (id !== undefined && adapter.id !== id) continue
      const checked = await availability(adapter)
      if (checked.available) return adapter.id
      if (id !== undefined)
        throw new AskbackError('invalid_request', `${adapter.name} cannot run here: ${checked.reason}`)
    }
    const known = this.adapters.map((adapter) => adapter.id).join(', ')
    const what = id === undefined ? 'No agent can run here.' : `There is no agent ${JSON.stringify(id)}.`
    throw new AskbackError('invalid_request', known ? `${what} Known agents: ${known}.` : what)
  }
}

async function availability(adapter: AgentAdapter): Promise<Availability> {
  try {
    return await adapter.check()
  } catch (error) {
    return { available: false, reason: error instanceof Error ? error.message : String(error) }
  }
}
