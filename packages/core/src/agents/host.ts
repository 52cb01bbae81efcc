import {
  AskbackError,
  type Actor,
  type CreateSessionBody,
  type LiveEvent,
  type MessageBody,
  type PermissionMode,
  type Session,
  type Routed,
} from '@askback/protocol'
import type { Clock } from '../clock.js'
import type { Bus } from '../cluster/bus.js'
import type { Leases } from '../cluster/leases.js'
import type { Desk } from '../desk/desk.js'
import type { Origin, ReadOptions, SessionSnapshot } from '../desk/desk-options.js'
import type { Fence } from '../store/store.js'
import type { AgentAdapter, Availability } from './agent.js'
import { AgentList } from './agent-list.js'
import { AgentRunner } from './agent-runner.js'
import { LiveFeed, type LiveListener } from './live-feed.js'

export interface HostOptions {
  desk: Desk
  agents?: AgentAdapter[]
  /** What scripts in the shells of a session's agent find in their environment. */
  env?: (sessionId: string) => Promise<Record<string, string>>
  /** To other processes on the same store: shows there what is being made here, and here what is made there. */
  bus?: Bus
  /** Where other processes share the store: which of them runs the agent of a session. */
  leases?: Leases
  clock?: Clock
  onError: (error: unknown) => void
}

/** A desk with agents: what a gateway serves and what a page holds in its own process. */
export class Host {
  readonly desk: Desk
  /** The desk is ready, and agents that a restart stopped are recovered. What fails is tried again until then. */
  readonly ready: Promise<void>
  readonly #live: LiveFeed
  readonly #agents: AgentList
  readonly #runner: AgentRunner
  readonly #leases: Leases | undefined
  readonly #onError: (error: unknown) => void
  readonly #stopListening: (() => void) | undefined

  constructor({ desk, agents = [], env, bus, leases, clock, onError }: HostOptions) {
    this.desk = desk
    this.#live = new LiveFeed(bus && ((live) => bus.publish({ type: 'live', ...live })))
    this.#stopListening = bus?.on((message) => {
      if (message.type === 'live') this.#live.receive(message.sessionId, message.event)
    })
    this.#onError = onError
    this.#leases = leases
    this.#agents = new AgentList(agents)
    this.#runner = new AgentRunner({
      desk,
      agents: this.#agents,
      live: this.#live,
      env,
      leases,
      clock,
      onError,
    })
    this.ready = desk.ready.then(() => this.#runner.recover())
  }

  agents(): Promise<(Availability & { id: string; name: string })[]> {
    return this.#agents.check()
  }

  /** Without `agent` the first that is available; `null` for a session of outside agents. */
  async createSession(
    body: CreateSessionBody & Origin & { source?: string },
  ): Promise<{ session: Session; created: boolean }> {
    const agent = body.agent === null ? null : await this.#agents.choose(body.agent)
    return this.desk.createSession({ ...body, agent })
  }

  async snapshot(
    sessionId: string,
    options: ReadOptions = {},
  ): Promise<SessionSnapshot & { live: LiveEvent[] }> {
    const snapshot = await this.desk.snapshot(sessionId, options)
    return { ...snapshot, live: this.#live.blocks(sessionId) }
  }

  /** The turn goes on in the background; its events tell how. */
  async message(input: Origin & MessageBody & { sessionId: string; by: Actor }): Promise<Routed> {
    const { sessionId } = input
    try {
      const { events, repeated, routed, interactionId } = await this.desk.message(input)
      // One that was sent before may have been given to an agent.
      const messageId = repeated ? undefined : events.find(({ type }) => type === 'user_message')?.id
      if (routed === 'agent') this.#runner.attend(sessionId, { messageId }).catch(this.#onError)
      return { routed, ...(routed === 'interaction' && interactionId !== undefined && { interactionId }) }
    } catch (error) {
      // It may be durable nevertheless.
      const isUnknown = error instanceof AskbackError && error.code === 'unavailable'
      if (isUnknown) this.#runner.attendUnsure(sessionId).catch(this.#onError)
      throw error
    }
  }

  async interrupt(sessionId: string, origin: Origin): Promise<void> {
    await this.#runner.interrupt(sessionId, () => this.desk.interrupt(sessionId, origin))
  }

  async clear(sessionId: string, origin: Origin): Promise<void> {
    await this.#runner.clear(sessionId, () => this.desk.clear(sessionId, origin))
  }

  async setPermissionMode(sessionId: string, mode: PermissionMode, origin: Origin = {}): Promise<void> {
    await this.desk.setPermissionMode(sessionId, mode, origin)
    await this.#runner.setPermissionMode(sessionId, mode)
  }

  async deleteSession(sessionId: string, origin: Origin): Promise<void> {
    await this.#runner.delete(sessionId, () => this.desk.deleteSession(sessionId, origin))
  }

  /** For what scripts in the shells of a session's agent write, while this process runs it and after it was taken over. */
  fenceOf(sessionId: string): Fence | undefined {
    return this.#leases?.lastFence(sessionId)
  }

  liveBlocks(sessionId: string): LiveEvent[] {
    return this.#live.blocks(sessionId)
  }

  onLive(listener: LiveListener): () => void {
    return this.#live.on(listener)
  }

  /** Ends the agents and the desk; what waits stays pending. */
  async close(): Promise<void> {
    this.#stopListening?.()
    await this.#runner.stopAll()
    this.desk.close()
  }
}

export function createHost(options: HostOptions): Host {
  return new Host(options)
}
