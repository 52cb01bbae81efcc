import {
  AskbackError,
  type Actor,
  type CreateSessionBody,
  type LiveEvent,
  type MessageBody,
  type PermissionMode,
  type Session,
  type MessageRoute,
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
  /** Environment variables for the shells of a session's agent. */
  env?: (sessionId: string) => Promise<Record<string, string>>
  /** Sends live events to the other processes on the same store, and receives theirs. */
  bus?: Bus
  /** On a shared store: which process runs the agent of a session. */
  leases?: Leases
  clock?: Clock
  onError: (error: unknown) => void
}

/** A desk with agents. A gateway serves one; a page may run one in its own process. */
export class Host {
  readonly desk: Desk
  /** Resolves when the desk is ready and the agents that a restart stopped are recovered. Failures are retried. */
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

  /** Without `agent`, uses the first available one; with `null`, the session is for agents outside of the gateway. */
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

  /** Resolves when the message is durable. The turn runs in the background and reports through events. */
  async message(input: Origin & MessageBody & { sessionId: string; by: Actor }): Promise<MessageRoute> {
    const { sessionId } = input
    try {
      const { events, repeated, routed, interactionId } = await this.desk.message(input)
      // An agent may have received a repeated message already.
      const messageId = repeated ? undefined : events.find(({ type }) => type === 'user_message')?.id
      if (routed === 'agent') this.#runner.attend(sessionId, { messageId }).catch(this.#onError)
      return { routed, ...(routed === 'interaction' && interactionId !== undefined && { interactionId }) }
    } catch (error) {
      // The message may be durable although the call failed.
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

  /** The fence for writes of scripts in the shells of a session's agent, also after the session was taken over. */
  fenceOf(sessionId: string): Fence | undefined {
    return this.#leases?.lastFence(sessionId)
  }

  liveBlocks(sessionId: string): LiveEvent[] {
    return this.#live.blocks(sessionId)
  }

  onLive(listener: LiveListener): () => void {
    return this.#live.on(listener)
  }

  /** Ends the agents and the desk. What is pending stays pending. */
  async close(): Promise<void> {
    this.#stopListening?.()
    await this.#runner.stopAll()
    this.desk.close()
  }
}

export function createHost(options: HostOptions): Host {
  return new Host(options)
}
