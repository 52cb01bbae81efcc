import {
  AskbackError,
  type PermissionMode,
  type SessionEvent,
  type SessionStateJson,
} from '@askback/protocol'
import type { AgentAdapter, AgentContext, AgentProcess, Availability, Ending } from './agent.js'
import type { Reported } from './command.js'
import type { Desk } from './desk.js'
import type { LiveFeed } from './live-feed.js'
import { AGENT_LOST } from './report.js'

export interface AgentRunnerOptions {
  desk: Desk
  adapters: AgentAdapter[]
  live: LiveFeed
  /** What the shells of a session's agent find in their environment. */
  env?: (sessionId: string) => Promise<Record<string, string>>
  onError: (error: unknown) => void
}

/** In one turn: an agent that falls over what it was told would be started again for ever. */
const MOST_LOSSES = 3

/** Starts, feeds and ends the agents of this process' sessions, and takes up what a restart cut. */
export class AgentRunner {
  readonly #options: AgentRunnerOptions
  readonly #running = new Map<string, Promise<AgentProcess>>()
  /** Sessions whose agent was lost with something pending: the answer starts it again. */
  readonly #cut = new Set<string>()
  /** How often the agent of a turn that is open was lost. */
  readonly #losses = new Map<string, number>()
  readonly #stopListening: () => void
  #stopped = false

  constructor(options: AgentRunnerOptions) {
    this.#options = options
    this.#stopListening = options.desk.on(({ sessionId, events }) => {
      options.live.finished(sessionId, events)
      for (const event of events) {
        if (event.type === 'turn_ended') this.#losses.delete(event.turnId)
        if (event.type === 'session_status')
          this.#setWaiting(sessionId, event.status === 'waiting').catch(options.onError)
      }
      if (!this.#cut.has(sessionId)) return
      // Another process appended, and what it was is not shown: the log tells.
      if (events.length === 0) this.#resumeIfAnswered(sessionId).catch(options.onError)
      else if (isAnswer(events)) this.#resume(sessionId).catch(options.onError)
    })
  }

  async list(): Promise<(Availability & { id: string; name: string })[]> {
    return Promise.all(
      this.#options.adapters.map(async (adapter) => ({
        id: adapter.id,
        name: adapter.name,
        ...(await availability(adapter)),
      })),
    )
  }

  /** The adapter of that id, or the first that is available. */
  async choose(id: string | undefined): Promise<string> {
    for (const adapter of this.#options.adapters) {
      if (id !== undefined && adapter.id !== id) continue
      const checked = await availability(adapter)
      if (checked.available) return adapter.id
      if (id !== undefined)
        throw new AskbackError('invalid_request', `${adapter.name} cannot run here: ${checked.reason}`)
    }
    const known = this.#options.adapters.map((adapter) => adapter.id).join(', ')
    const what = id === undefined ? 'No agent can run here.' : `There is no agent ${JSON.stringify(id)}.`
    throw new AskbackError('invalid_request', known ? `${what} Known agents: ${known}.` : what)
  }

  async send(sessionId: string, message: { text: string; turnId: string }): Promise<void> {
    try {
      const agent = await this.#process(sessionId, await this.#takeCut(sessionId))
      await agent.send(message)
    } catch (error) {
      await this.#failed(sessionId, message.turnId, error)
    }
  }

  /** What settles meanwhile does not start a lost agent again: it would only hear that it was stopped. */
  async unwoken(
    sessionId: string,
    stop: () => Promise<{ repeated: boolean }>,
  ): Promise<{ repeated: boolean }> {
    const wasCut = this.#cut.delete(sessionId)
    let repeated = true
    try {
      ;({ repeated } = await stop())
      return { repeated }
    } finally {
      // Nothing was stopped.
      if (wasCut && repeated) this.#cut.add(sessionId)
    }
  }

  /** The desk has cancelled what was pending. */
  async interrupt(sessionId: string): Promise<void> {
    const agent = await this.#current(sessionId)
    await agent?.interrupt()
    await this.#endTurn(sessionId)
  }

  /** The next message starts a fresh context. */
  async clear(sessionId: string): Promise<void> {
    await this.stop(sessionId)
    await this.#endTurn(sessionId)
  }

  async setPermissionMode(sessionId: string, mode: PermissionMode): Promise<void> {
    await (await this.#current(sessionId))?.setPermissionMode(mode)
  }

  async stop(sessionId: string): Promise<void> {
    this.#cut.delete(sessionId)
    const agent = await this.#current(sessionId)
    this.#running.delete(sessionId)
    await agent?.stop()
  }

  /** At start: sessions whose agent went down with the last process. What is pending in them stays pending. */
  async recover(): Promise<void> {
    for (const adapter of this.#options.adapters) {
      await adapter.recover?.().catch((error: unknown) => this.#options.onError(error))
    }
    let after: string | undefined
    do {
      const page = await this.#options.desk.sessions({ limit: 500, ...(after !== undefined && { after }) })
      for (const { id, agent, status } of page.items) {
        if (agent !== null && (status === 'running' || status === 'waiting')) await this.#recoverOne(id)
      }
      after = page.next ?? undefined
    } while (after !== undefined)
  }

  /** Ends every process; sessions stay as they are and are recovered at the next start. */
  async stopAll(): Promise<void> {
    this.#stopped = true
    this.#stopListening()
    const running = [...this.#running.values()]
    this.#running.clear()
    await Promise.allSettled(running.map(async (agent) => (await agent).stop()))
  }

  async #recoverOne(sessionId: string): Promise<void> {
    this.#cut.add(sessionId)
    await this.#report(sessionId, {
      type: 'error',
      code: AGENT_LOST,
      message: 'The agent was stopped by a restart of the gateway.',
      fatal: false,
    })
    await this.#waitOrEnd(sessionId)
  }

  /** An agent that nobody stopped has ended. What is pending stays so, and its answer starts the agent again. */
  async #gone(sessionId: string, ending: Exclude<Ending, { how: 'stopped' }>): Promise<void> {
    const { state } = await this.#options.desk.snapshot(sessionId)
    const turnId = state.activeTurnId
    if (this.#stopped || turnId === null) return
    // Before anybody is told: from here on an answer or a message takes the turn up.
    this.#cut.add(sessionId)
    if (ending.how === 'lost') {
      const { message } = ending
      const losses = (this.#losses.get(turnId) ?? 0) + 1
      if (losses > MOST_LOSSES) {
        this.#cut.delete(sessionId)
        return this.#failed(sessionId, turnId, new Error(message))
      }
      this.#losses.set(turnId, losses)
      await this.#report(sessionId, { type: 'error', code: AGENT_LOST, message, fatal: false })
    }
    await this.#waitOrEnd(sessionId)
  }

  async #waitOrEnd(sessionId: string): Promise<void> {
    const { state } = await this.#options.desk.snapshot(sessionId)
    if (unanswered(state)) return this.#resume(sessionId)
    if (state.pending.length > 0) return
    this.#cut.delete(sessionId)
    await this.#endTurn(sessionId)
  }

  async #resumeIfAnswered(sessionId: string): Promise<void> {
    const { state } = await this.#options.desk.snapshot(sessionId)
    if (unanswered(state)) await this.#resume(sessionId)
  }

  async #resume(sessionId: string): Promise<void> {
    const cut = await this.#takeCut(sessionId)
    if (!cut) return
    try {
      await this.#process(sessionId, cut)
    } catch (error) {
      await this.#failed(sessionId, cut.turnId, error)
    }
  }

  /** What the agent of a cut turn has to take up; once. */
  async #takeCut(sessionId: string): Promise<AgentContext['resume']> {
    if (!this.#cut.delete(sessionId)) return null
    const { state } = await this.#options.desk.snapshot(sessionId)
    return state.activeTurnId === null ? null : { turnId: state.activeTurnId, state }
  }

  #process(sessionId: string, resume: AgentContext['resume']): Promise<AgentProcess> {
    const running = this.#running.get(sessionId)
    if (running) return running
    if (this.#stopped) throw new AskbackError('unavailable', 'The gateway is stopping.')
    const starting = this.#start(sessionId, resume)
    this.#running.set(sessionId, starting)
    const forget = () => {
      if (this.#running.get(sessionId) === starting) this.#running.delete(sessionId)
    }
    starting
      .then(async (agent) => {
        const ending = await agent.ended
        const isCurrent = this.#running.get(sessionId) === starting
        forget()
        await this.#report(sessionId, ...this.#options.live.unfinished(sessionId))
        if (isCurrent && ending.how !== 'stopped') await this.#gone(sessionId, ending)
      })
      .catch((error: unknown) => {
        forget()
        if (!this.#stopped && !(error instanceof AskbackError)) this.#options.onError(error)
      })
    return starting
  }

  async #start(sessionId: string, resume: AgentContext['resume']): Promise<AgentProcess> {
    const { desk, adapters, live, env } = this.#options
    const { session, state } = await desk.snapshot(sessionId)
    const adapter = adapters.find(({ id }) => id === session.agent)
    if (!adapter) throw new AskbackError('unavailable', `The agent ${session.agent} is not installed here.`)
    return adapter.start({
      sessionId,
      cwd: session.cwd,
      model: state.model,
      permissionMode: session.permissionMode,
      agentSessionId: state.agentSessionId,
      resume,
      env: (await env?.(sessionId)) ?? {},
      session: desk.session(sessionId),
      report: (...events) => this.#report(sessionId, ...events),
      live: (delta) => live.emit(sessionId, delta),
    })
  }

  async #setWaiting(sessionId: string, isWaiting: boolean): Promise<void> {
    await (await this.#current(sessionId))?.setWaiting?.(isWaiting)
  }

  async #current(sessionId: string): Promise<AgentProcess | null> {
    try {
      return (await this.#running.get(sessionId)) ?? null
    } catch {
      // It never started; whoever sent the message was told.
      return null
    }
  }

  async #failed(sessionId: string, turnId: string, error: unknown): Promise<void> {
    const message = error instanceof Error ? error.message : String(error)
    await this.#report(
      sessionId,
      { type: 'error', code: 'agent_failed', message, fatal: true },
      { type: 'turn_ended', turnId, reason: 'error' },
    )
  }

  async #endTurn(sessionId: string): Promise<void> {
    const { state } = await this.#options.desk.snapshot(sessionId)
    const turnId = state.activeTurnId
    const partial = this.#options.live.unfinished(sessionId)
    if (turnId !== null)
      await this.#report(sessionId, ...partial, { type: 'turn_ended', turnId, reason: 'interrupted' })
  }

  async #report(sessionId: string, ...events: Reported[]): Promise<void> {
    if (events.length > 0) await this.#options.desk.report({ sessionId, events })
  }
}

function isAnswer(events: SessionEvent[]): boolean {
  return events.some((event) => event.type === 'interaction_response')
}

/** Whether the open turn holds a settlement that its agent has not acted on, as far as the log tells (L10). */
function unanswered(state: SessionStateJson): boolean {
  const open = state.turns.find((turn) => turn.turnId !== null && turn.turnId === state.activeTurnId)
  const ids = new Set(open?.items.map((item) => (item.type === 'interaction' ? item.interactionId : null)))
  const ended = new Set(state.toolCalls.map((call) => (call.result ? call.toolCallId : null)))
  return state.interactions.some(
    ({ interactionId, toolCallId, settlement }) =>
      ids.has(interactionId) && settlement !== 'superseded' && !ended.has(toolCallId),
  )
}

async function availability(adapter: AgentAdapter): Promise<Availability> {
  try {
    return await adapter.check()
  } catch (error) {
    return { available: false, reason: error instanceof Error ? error.message : String(error) }
  }
}
