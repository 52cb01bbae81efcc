import {
  AskbackError,
  type CreateSessionBody,
  type LiveEvent,
  type MessageBody,
  type MessageRoute,
  type PermissionMode,
  type Repeatable,
  type Session,
} from '@askback/protocol'
import type { Clock } from '../clock.js'
import type { Bus } from '../cluster/bus.js'
import type { Leases } from '../cluster/leases.js'
import type { Caller, PersonCaller } from '../decide/caller.js'
import type { BoundDesk } from '../desk/bound-desk.js'
import type { Desk } from '../desk/desk.js'
import type { ReadOptions, SessionSnapshot } from '../desk/desk-options.js'
import type { Fence } from '../store/store.js'
import type { AgentAdapter, Availability } from './agent.js'
import { AgentList } from './agent-list.js'
import { AgentRunner } from './agent-runner.js'
import { LiveFeed, type LiveListener } from './live-feed.js'

/** The options of `createHost`. */
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
  /**
   * How long an agent stays without a turn before its process is ended to free its memory, in milliseconds; `null` for ever. The next
   * message starts it again, in the same conversation. Only agents that can continue are ended.
   * @default 10 minutes
   */
  freeAfterMs?: number | null
  onError: (error: unknown) => void
}

interface HostParts {
  agents: AgentList
  runner: AgentRunner
  onError: (error: unknown) => void
}

/** A host as one caller uses it: `host.as(caller)` makes one. */
export class BoundHost<Who extends Caller = Caller> {
  readonly desk: BoundDesk<Who>
  readonly #parts: HostParts

  /** @internal */
  constructor(desk: BoundDesk<Who>, parts: HostParts) {
    this.desk = desk
    this.#parts = parts
  }

  /** Without `agent`, uses the first available one; with `null`, the session is for agents outside of the gateway. */
  async createSession(
    body: CreateSessionBody & Repeatable & { source?: string },
  ): Promise<{ session: Session; created: boolean }> {
    const agent = body.agent === null ? null : await this.#parts.agents.choose(body.agent)
    return this.desk.createSession({ ...body, agent })
  }

  /** Resolves when the message is durable. The turn runs in the background and reports through events. */
  async message(
    this: BoundHost<PersonCaller>,
    input: Repeatable & MessageBody & { sessionId: string },
  ): Promise<MessageRoute> {
    const { sessionId } = input
    const { runner, onError } = this.#parts
    try {
      const { events, repeated, routed, interactionId } = await this.desk.message(input)
      // An agent may have received a repeated message already.
      const messageId = repeated ? undefined : events.find(({ type }) => type === 'user_message')?.id
      if (routed === 'agent') runner.attend(sessionId, { messageId }).catch(onError)
      return { routed, ...(routed === 'interaction' && interactionId !== undefined && { interactionId }) }
    } catch (error) {
      // The message may be durable although the call failed.
      const isUnknown = error instanceof AskbackError && error.code === 'unavailable'
      if (isUnknown) runner.attendUnsure(sessionId).catch(onError)
      throw error
    }
  }

  async interrupt(sessionId: string, options?: Repeatable): Promise<void> {
    await this.#parts.runner.interrupt(sessionId, () => this.desk.interrupt(sessionId, options))
  }

  async clear(sessionId: string, options?: Repeatable): Promise<void> {
    await this.#parts.runner.clear(sessionId, () => this.desk.clear(sessionId, options))
  }

  async setPermissionMode(sessionId: string, mode: PermissionMode, options?: Repeatable): Promise<void> {
    await this.desk.setPermissionMode(sessionId, mode, options)
    await this.#parts.runner.setPermissionMode(sessionId, mode)
  }

  async deleteSession(sessionId: string, options?: Repeatable): Promise<void> {
    await this.#parts.runner.delete(sessionId, () => this.desk.deleteSession(sessionId, options))
  }
}

/**
 * A desk with agents. A gateway serves one; a page may run one in its own process.
 *
 * @example
 *   const host = createHost({ desk, agents: [demoAgent()], onError: console.error })
 *   const ada = host.as({ by: { id: 'ada' }, via: 'web' })
 *   await ada.message({ sessionId, text: 'Please do it.' })
 */
export class Host extends BoundHost {
  declare readonly desk: Desk
  /** Resolves when the desk is ready and the agents that a restart stopped are recovered. Failures are retried. */
  readonly ready: Promise<void>
  readonly #live: LiveFeed
  readonly #parts: HostParts
  readonly #leases: Leases | undefined
  readonly #stopListening: (() => void) | undefined

  constructor({ desk, agents: adapters = [], env, bus, leases, clock, freeAfterMs, onError }: HostOptions) {
    const live = new LiveFeed(bus && ((event) => bus.publish({ type: 'live', ...event })))
    const agents = new AgentList(adapters)
    const runner = new AgentRunner({ desk, agents, live, env, leases, clock, freeAfterMs, onError })
    const parts = { agents, runner, onError }
    super(desk, parts)
    this.#parts = parts
    this.#live = live
    this.#stopListening = bus?.on((message) => {
      if (message.type === 'live') live.receive(message.sessionId, message.event)
    })
    this.#leases = leases
    this.ready = desk.ready.then(() => runner.recover())
  }

  /** The same host for one caller, like `desk.as`. */
  as(caller: PersonCaller): BoundHost<PersonCaller>
  as(caller: Caller): BoundHost
  as(caller: Caller): BoundHost {
    return new BoundHost(this.desk.as(caller), this.#parts)
  }

  agents(): Promise<(Availability & { id: string; name: string })[]> {
    return this.#parts.agents.check()
  }

  async snapshot(
    sessionId: string,
    options: ReadOptions = {},
  ): Promise<SessionSnapshot & { live: LiveEvent[] }> {
    const snapshot = await this.desk.snapshot(sessionId, options)
    return { ...snapshot, live: this.#live.blocks(sessionId) }
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
    await this.#parts.runner.stopAll()
    this.desk.close()
  }
}

/** Runs sessions and their agents on a desk. */
export function createHost(options: HostOptions): Host {
  return new Host(options)
}
