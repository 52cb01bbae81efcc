import { AskbackError, type PermissionMode } from '@askback/protocol'
import type { Clock } from '../clock.js'
import type { Leases } from '../cluster/leases.js'
import type { ReportedEvent } from '../decide/command.js'
import type { Advance } from '../desk/committed.js'
import type { BoundDesk } from '../desk/bound-desk.js'
import type { Desk } from '../desk/desk.js'
import { fencedError } from '../desk/desk-options.js'
import type { Fence } from '../store/store.js'
import type { AgentContext, AgentProcess, AgentEnd } from './agent.js'
import type { AgentList } from './agent-list.js'
import type { LiveFeed } from './live-feed.js'
import { StartAbandoned, RunningAgent } from './running-agent.js'

export interface AgentProcessesOptions {
  desk: Desk
  agents: AgentList
  live: LiveFeed
  /** Environment variables for the shells of a session's agent. */
  env?: ((sessionId: string) => Promise<Record<string, string>>) | undefined
  /** On a shared store: which process runs the agent of a session. */
  leases?: Leases | undefined
  clock?: Clock | undefined
  /** How long an agent stays without a turn before its process is ended, in milliseconds; `null` without a limit. */
  freeAfterMs?: number | null | undefined
  onError: (error: unknown) => void
}

interface AgentProcessEvents {
  /** An agent has ended. `wasCurrent` is false if it was removed before. */
  ended(sessionId: string, ending: AgentEnd, wasCurrent: boolean): Promise<void>
  /** The session belongs to another process now. */
  fencedOff(sessionId: string): void
}

/** The agents that run in this process, at most one per session. */
export class AgentProcesses {
  readonly #options: AgentProcessesOptions
  readonly #events: AgentProcessEvents
  readonly #running = new Map<string, RunningAgent>()
  /** The next agent of a session starts when the last one has ended. */
  readonly #ending = new Map<string, Promise<void>>()
  /** Interrupted agents. Until the turn ends, a call that is reported as failed was stopped by the interrupt. */
  readonly #interrupting = new Set<string>()
  #stopped = false

  constructor(options: AgentProcessesOptions, events: AgentProcessEvents) {
    this.#options = options
    this.#events = events
  }

  get stopped(): boolean {
    return this.#stopped
  }

  has(sessionId: string): boolean {
    return this.#running.has(sessionId)
  }

  /** Whether its process can be ended and started again later, without a loss. */
  canBeFreed(sessionId: string): boolean {
    const running = this.#running.get(sessionId)
    return running?.isStarted === true && running.agent?.canBeFreed?.() === true
  }

  isInterrupting(sessionId: string): boolean {
    return this.#interrupting.has(sessionId)
  }

  /** Resolves with whether there was an agent to interrupt. One that is still starting does not count. */
  async interrupt(sessionId: string): Promise<boolean> {
    const running = this.#running.get(sessionId)
    if (!running?.isStarted || !running.agent) return false
    this.#interrupting.add(sessionId)
    try {
      // An agent whose session was taken over would wait for its last report for ever, so it is ended.
      await Promise.race([running.agent.interrupt(), running.dismissed])
    } finally {
      this.#interrupting.delete(sessionId)
    }
    return true
  }

  /** Returns the running agent, or starts one that resumes `resume`. */
  start(sessionId: string, resume: AgentContext['resume']): Promise<AgentProcess> {
    const known = this.#running.get(sessionId)
    if (known) return known.started
    if (this.#stopped) throw new AskbackError('unavailable', 'The gateway is stopping.')
    const fence = this.#options.leases?.fence(sessionId)
    // The start was abandoned meanwhile, and another process may own the session: without a fence two agents would run.
    if (this.#options.leases && !fence) throw new StartAbandoned()
    const running = this.#run(sessionId, resume, fence)
    this.#register(sessionId, running, fence)
    return running.started
  }

  /** An agent that is starting gets the mode when it has started. */
  async setPermissionMode(sessionId: string, mode: PermissionMode): Promise<void> {
    await this.#running.get(sessionId)?.agent?.setPermissionMode(mode)
  }

  /** Resolves with whether the agent survived the gateway that ran it. Then the turn continues. */
  async reconnect(sessionId: string): Promise<boolean> {
    const { desk, leases, onError } = this.#options
    const { session, state } = await desk.snapshot(sessionId)
    const adapter = this.#options.agents.find(session.agent)
    if (!adapter?.reconnect || state.activeTurnId === null) return false
    const fence = leases?.fence(sessionId)
    const resume = { turnId: state.activeTurnId, state }
    const agent = await adapter
      // The shells of that agent have their environment already.
      .reconnect({ ...(await this.#contextOf(sessionId, fence)), env: {}, resume })
      .catch((error: unknown) => {
        onError(error)
        return null
      })
    if (!agent) return false
    // A message may have started another agent meanwhile.
    if (this.#stopped || this.#running.has(sessionId)) await agent.stop()
    else this.#register(sessionId, new RunningAgent(() => Promise.resolve(agent)), fence)
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

  /** Reports events on behalf of an agent. Throws without the lease, because another process may run the agent. */
  async report(sessionId: string, events: ReportedEvent[]): Promise<void> {
    const { leases } = this.#options
    const fence = leases?.lastFence(sessionId)
    if (leases && !fence) throw fencedError()
    await write(this.#options.desk.as({ fence }), sessionId, events)
  }

  #register(sessionId: string, running: RunningAgent, fence: Fence | undefined): void {
    this.#running.set(sessionId, running)
    const stopTelling = this.#reportWaiting(sessionId, running)
    void this.#follow(sessionId, running, fence).then(async () => (await stopTelling)())
  }

  /** Informs the agent when its session starts and stops waiting for a person. Resolves with a function that ends that. */
  async #reportWaiting(sessionId: string, running: RunningAgent): Promise<() => void> {
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
      // The caller of `start` gets the error.
      if (!(error instanceof AskbackError)) onError(error)
      return () => undefined
    }
  }

  async #follow(sessionId: string, running: RunningAgent, fence: Fence | undefined): Promise<void> {
    const agent = await running.started.catch((error: unknown) => {
      // The sender of the message gets the error.
      if (!this.#stopped && !(error instanceof AskbackError)) this.#options.onError(error)
      return null
    })
    const ending = await agent?.ended
    const wasCurrent = this.#running.get(sessionId) === running
    if (wasCurrent) this.#running.delete(sessionId)
    if (!ending) return
    const left = this.#options.live.unfinished(sessionId)
    await this.#attempt(() => write(this.#options.desk.as({ fence }), sessionId, left))
    // Also if the report failed: otherwise an answer would not start the agent again.
    await this.#attempt(() => this.#events.ended(sessionId, ending, wasCurrent))
  }

  /** Ignores errors of a session that was deleted or belongs to another process. */
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
    let startMode: PermissionMode | undefined
    return new RunningAgent(
      async (signal) => {
        await this.#ending.get(sessionId)?.catch(() => {})
        const { session } = await desk.snapshot(sessionId)
        const adapter = agents.find(session.agent)
        if (!adapter)
          throw new AskbackError('unavailable', `The agent ${session.agent} is not installed here.`)
        const env = (await this.#options.env?.(sessionId)) ?? {}
        const context = await this.#contextOf(sessionId, fence)
        startMode = context.permissionMode
        signal.throwIfAborted()
        return adapter.start({ ...context, env, resume }, signal)
      },
      async (agent) => {
        const { permissionMode } = (await desk.snapshot(sessionId)).session
        if (permissionMode !== startMode) await agent.setPermissionMode(permissionMode)
      },
    )
  }

  async #contextOf(
    sessionId: string,
    fence: Fence | undefined,
  ): Promise<Omit<AgentContext, 'resume' | 'env'>> {
    const { desk, live } = this.#options
    const { session, state } = await desk.snapshot(sessionId)
    const bound = desk.as({ fence })
    return {
      sessionId,
      cwd: session.cwd,
      model: state.model,
      permissionMode: session.permissionMode,
      agentSessionId: state.agentSessionId,
      // A deleted session must not be created again because its agent continues to ask.
      session: bound.session(sessionId, null),
      report: (...events) => this.#reportOf(bound, sessionId, events),
      live: (delta) => live.emit(sessionId, delta),
    }
  }

  /** Adds the unfinished blocks to the end of an interrupted turn. */
  #withUnfinished(sessionId: string, events: ReportedEvent[]): ReportedEvent[] {
    const end = events.find((event) => event.type === 'turn_ended')
    if (!end || end.reason === 'done') return events
    const { turnId } = end
    const left = this.#options.live.unfinished(sessionId, events)
    return [...left.map((event) => ({ ...event, turnId })), ...events]
  }

  /** Handles a report of the agent. After a takeover it never resolves, so that the agent does not continue as if it was logged. */
  async #reportOf(desk: BoundDesk, sessionId: string, events: ReportedEvent[]): Promise<void> {
    try {
      const reported = this.#interrupting.has(sessionId) ? events.map(cutOff) : events
      await write(desk, sessionId, this.#withUnfinished(sessionId, reported))
    } catch (error) {
      if (!desk.caller.fence || !(error instanceof AskbackError) || error.code !== 'forbidden') throw error
      this.#events.fencedOff(sessionId)
      await new Promise(() => undefined)
    }
  }
}

async function write(desk: BoundDesk, sessionId: string, events: ReportedEvent[]): Promise<void> {
  if (events.length > 0) await desk.report({ sessionId, events })
}

function cutOff(event: ReportedEvent): ReportedEvent {
  return event.type === 'tool_result' && event.isError ? { settledBy: 'interrupted', ...event } : event
}
