import { AskbackError, errorMessage, skeleton, spellOutLine } from '@askback/protocol'
import type { AgentAdapter, Availability } from './agent.js'

/** The agents that may run here. */
export class AgentList {
  readonly adapters: readonly AgentAdapter[]

  constructor(adapters: readonly AgentAdapter[]) {
    checkNames(adapters)
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

  /** The agent with this id, or the first available one. */
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

/** People recognise agents by their names, so a name must be visible and must not look like another one. */
function checkNames(adapters: readonly AgentAdapter[]): void {
  const taken = new Map<string, AgentAdapter>()
  for (const adapter of adapters) {
    for (const text of [adapter.id, adapter.name]) {
      const quoted = JSON.stringify(text)
      if (text === '' || text !== text.normalize('NFKC').trim() || text !== spellOutLine(text, 'code')) {
        throw new AskbackError(
          'invalid_request',
          `${quoted} is no name for an agent: use plain, visible text.`,
        )
      }
      const other = taken.get(skeleton(text))
      if (other && other !== adapter) {
        throw new AskbackError(
          'invalid_request',
          `Two agents are called ${quoted}, or look like it: ${other.id} and ${adapter.id}. Rename one.`,
        )
      }
      taken.set(skeleton(text), adapter)
    }
  }
}

async function availability(adapter: AgentAdapter): Promise<Availability> {
  try {
    return await adapter.check()
  } catch (error) {
    return { available: false, reason: errorMessage(error) }
  }
}
