import { AskbackError, type PermissionMode } from '@askback/protocol'
import type { Clock } from '../clock.js'
import type { Leases } from '../cluster/leases.js'
import type { Reported } from '../decide/command.js'
import type { Advance } from '../desk/committed.js'
import type { Desk } from '../desk/desk.js'
import { fencedError } from '../desk/errors.js'
import type { Fence } from '../store/store.js'
import type { AgentContext, AgentProcess, Ending } from './agent.js'
import type { AgentList } from './agent-list.js'
import type { LiveFeed } from './live-feed.js'
import { GivenUp, RunningAgent } from './running-agent.js'

export interface AgentProcessesOptions {
  desk: Desk
  agents: AgentList
  live: LiveFeed
  /** What the shells of a session's agent find in their environment. */
  env?: ((sessionId: string) => Promise<Record<string, string>>) | undefined
  /** Where several processes share a store: which of them runs the agent of a session. */
  leases?: Leases | undefined
  clock?: Clock | undefined
  onError: (error: unknown) => void
}

interface Told {
  /** One has ended; `wasCurrent` unless somebody took it off before. */
  ended(sessionId: string, ending: Ending, wasCurrent: boolean): Promise<void>
  /** Its session belongs to another process now. */
  fencedOff(sessionId: string): void
}

/** The agents that run in this process, one a session. */
export class AgentProcesses {
  readonly #options: AgentProcessesOptions
  readonly #told: Told
  readonly #running = new Map<string, RunningAgent>()
  /** The next one of a session starts when the last one has ended. */
  readonly #ending = new Map<string, Promise<void>>()
  /** Until such an agent has ended its turn, a call that it reports as failed is one that the interrupt cut off. */
  readonly #interrupting = new Set<string>()
  #stopped = false

  constructor(options: AgentProcessesOptions, told: Told) {
    this.#options = options
    this.#told = told
  }

  get stopped(): boolean {
    return this.#stopped
  }

  has(sessionId: string): boolean {
    return this.#running.has(sessionId)
  }

  isInterrupting(sessionId: string): boolean {
    return this.#interrupting.has(sessionId)
  }

  /** Whether there was an agent to interrupt: one that has not started is not. */
  async interrupt(sessionId: string): Promise<boolean> {
    const running = this.#running.get(sessionId)
    if (!running?.isStarted || !running.agent) return false
    this.#interrupting.add(sessionId)
    try {
      // One whose session was taken over waits for its last report for ever, until it is ended.
      await Promise.race([running.agent.interrupt(), running.dismissed])
    } finally {
      this.#interrupting.delete(sessionId)
    }
    return true
  }

  /** The one that runs, or a new one that takes up `resume`. */
  start(sessionId: string, resume: AgentContext['resume']): Promise<AgentProcess> {
    const known = this.#running.get(sessionId)
    if (known) return known.started
    if (this.#stopped) throw new AskbackError('unavailable', 'The gateway is stopping.')
    const fence = this.#options.leases?.fence(sessionId)
    // It was given up meanwhile, and may be another's: without a fence two would run.
    if (this.#options.leases && !fence) throw new GivenUp()
    const running = this.#run(sessionId, resume, fence)
    this.#keep(sessionId, running, fence)
    return running.started
  }

  /** One that is about to start learns of it then. */
  async setPermissionMode(sessionId: string, mode: PermissionMode): Promise<void> {
    await this.#running.get(sessionId)?.agent?.setPermissionMode(mode)
  }

  /** Whether its agent has outlived the gateway that ran it: then the turn goes on as if nothing had happened. */
  async reconnect(sessionId: string): Promise<boolean> {
    const { desk, leases, onError } = this.#options
    const { session, state } = await desk.snapshot(sessionId)
    const adapter = this.#options.agents.find(session.agent)
    if (!adapter?.reconnect || state.activeTurnId === null) return false
    const fence = leases?.fence(sessionId)
    const resume = { turnId: state.activeTurnId, state }
    const agent = await adapter
      // Its shells have theirs.
      .reconnect({ ...(await this.#contextOf(sessionId, fence)), env: {}, resume })
      .catch((error: unknown) => {
        onError(error)
        return null
      })
    if (!agent) return false
    // A message has started another one meanwhile.
    if (this.#stopped || this.#running.has(sessionId)) await agent.stop()
    else this.#keep(sessionId, new RunningAgent(() => Promise.resolve(agent)), fence)
    return true
  }

  async end(sessionId: string): Promise<void> {
    const running = this.#running.get(sessionId)
    if (running) {
      this.#running.delete(sessionId)
      const ending = running.end().finally(() => {
        if (this.#ending.get(sessionId) === ending) this.#ending.delete(sessionId)
      })
      this.#ending.set(sessionId, ending)
    }
    await this.#ending.get(sessionId)
  }

  async stopAll(): Promise<void> {
    this.#stopped = true
    await Promise.allSettled([...this.#running.keys(), ...this.#ending.keys()].map((id) => this.end(id)))
  }

  /** What happens to an agent, told in its stead. Without the lease nobody here may speak for it. */
  async report(sessionId: string, events: Reported[]): Promise<void> {
    const { leases } = this.#options
    const fence = leases?.lastFence(sessionId)
    if (leases && !fence) throw fencedError()
    await this.#write(sessionId, events, fence)
  }

  async #write(sessionId: string, events: Reported[], fence: Fence | undefined): Promise<void> {
    if (events.length > 0) await this.#options.desk.report({ sessionId, events, fence })
  }

  #keep(sessionId: string, running: RunningAgent, fence: Fence | undefined): void {
    this.#running.set(sessionId, running)
    const stopTelling = this.#tellWaiting(sessionId, running)
    void this.#follow(sessionId, running, fence).then(async () => (await stopTelling)())
  }

  /** Tells the agent when its session begins and ends to wait for a person. Resolves to what ends that. */
  async #tellWaiting(sessionId: string, running: RunningAgent): Promise<() => void> {
    const { desk, onError } = this.#options
    const tell = async (isWaiting: boolean) => {
      const agent = await running.started.catch(() => null)
      await agent?.setWaiting?.(isWaiting)
    }
    const advanced = ({ events }: Advance) => {
      for (const event of events)
        if (event.type === 'session_status') tell(event.status === 'waiting').catch(onError)
    }
    try {
      return (await desk.follow(sessionId, { advanced, gone: () => undefined })).stop
    } catch (error) {
      // Whoever started it is told that the session is gone, or cannot be read.
      if (!(error instanceof AskbackError)) onError(error)
      return () => undefined
    }
  }

  async #follow(sessionId: string, running: RunningAgent, fence: Fence | undefined): Promise<void> {
    const agent = await running.started.catch((error: unknown) => {
      // Whoever sent the message is told.
      if (!this.#stopped && !(error instanceof AskbackError)) this.#options.onError(error)
      return null
    })
    const ending = await agent?.ended
    const wasCurrent = this.#running.get(sessionId) === running
    if (wasCurrent) this.#running.delete(sessionId)
    if (!ending) return
    const left = this.#options.live.unfinished(sessionId)
    await this.#attempt(() => this.#write(sessionId, left, fence))
    // Also if that could not be kept: else an answer would start nobody.
    await this.#attempt(() => this.#told.ended(sessionId, ending, wasCurrent))
  }

  /** That its session is deleted, or another process', need not be said. */
  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      const isGone = error instanceof AskbackError && ['not_found', 'forbidden'].includes(error.code)
      if (!isGone && !this.#stopped) this.#options.onError(error)
    }
  }

  #run(sessionId: string, resume: AgentContext['resume'], fence: Fence | undefined): RunningAgent {
    const { desk, agents } = this.#options
    let told: PermissionMode | undefined
    return new RunningAgent(
      async (signal) => {
        await this.#ending.get(sessionId)?.catch(() => {})
        const { session } = await desk.snapshot(sessionId)
        const adapter = agents.find(session.agent)
        if (!adapter)
          throw new AskbackError('unavailable', `The agent ${session.agent} is not installed here.`)
        const env = (await this.#options.env?.(sessionId)) ?? {}
        const context = await this.#contextOf(sessionId, fence)
        told = context.permissionMode
        signal.throwIfAborted()
        return adapter.start({ ...context, env, resume }, signal)
      },
      async (agent) => {
        const { permissionMode } = (await desk.snapshot(sessionId)).session
        if (permissionMode !== told) await agent.setPermissionMode(permissionMode)
      },
    )
  }

  async #contextOf(
    sessionId: string,
    fence: Fence | undefined,
  ): Promise<Omit<AgentContext, 'resume' | 'env'>> {
    const { desk, live } = this.#options
    const { session, state } = await desk.snapshot(sessionId)
    return {
      sessionId,
      cwd: session.cwd,
      model: state.model,
      permissionMode: session.permissionMode,
      agentSessionId: state.agentSessionId,
      // One that is deleted must not come back because its agent goes on asking.
      session: desk.session(sessionId, null, fence),
      report: (...events) => this.#reportOf(sessionId, fence, events),
      live: (delta) => live.emit(sessionId, delta),
    }
  }

  /** A turn that is cut holds what had come of its last blocks. */
  #withUnfinished(sessionId: string, events: Reported[]): Reported[] {
    const end = events.find((event) => event.type === 'turn_ended')
    if (!end || end.reason === 'done') return events
    const { turnId } = end
    const left = this.#options.live.unfinished(sessionId, events)
    return [...left.map((event) => ({ ...event, turnId })), ...events]
  }

  /** What the agent tells. One that was taken over gets no answer any more: it must not go on as if it had been heard. */
  async #reportOf(sessionId: string, fence: Fence | undefined, events: Reported[]): Promise<void> {
    try {
      const told = this.#interrupting.has(sessionId) ? events.map(cutOff) : events
      await this.#write(sessionId, this.#withUnfinished(sessionId, told), fence)
    } catch (error) {
      if (!fence || !(error instanceof AskbackError) || error.code !== 'forbidden') throw error
      this.#told.fencedOff(sessionId)
      await new Promise(() => undefined)
    }
  }
}

function cutOff(event: Reported): Reported {
  return event.type === 'tool_result' && event.isError ? { settledBy: 'interrupted', ...event } : event
}
