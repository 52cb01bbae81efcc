import {
  AskbackError,
  type PermissionMode,
  type SessionEvent,
  type SessionStateJson,
  type SessionStatus,
} from '@askback/protocol'
import type { AgentAdapter, AgentContext, AgentProcess, Availability, Ending } from './agent.js'
import type { Reported } from './command.js'
import type { Desk } from './desk.js'
import type { Leases } from './leases.js'
import { jsonOf, letterOf, type Letter } from './letters.js'
import type { LiveFeed } from './live-feed.js'
import { AGENT_LOST } from './report.js'
import type { Fence } from './store.js'

export interface AgentRunnerOptions {
  desk: Desk
  adapters: AgentAdapter[]
  live: LiveFeed
  /** What the shells of a session's agent find in their environment. */
  env?: (sessionId: string) => Promise<Record<string, string>>
  /** Where several processes share a store: which of them runs the agent of a session. */
  leases?: Leases
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
      if (await this.#elsewhere({ do: 'send', sessionId, ...message }, true)) return
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
    if (await this.#elsewhere({ do: 'interrupt', sessionId })) return
    const agent = await this.#current(sessionId)
    await agent?.interrupt()
    await this.#endTurn(sessionId)
  }

  /** The next message starts a fresh context. */
  async clear(sessionId: string): Promise<void> {
    if (await this.#elsewhere({ do: 'clear', sessionId })) return
    await this.stop(sessionId)
    await this.#endTurn(sessionId)
  }

  async setPermissionMode(sessionId: string, mode: PermissionMode): Promise<void> {
    if (await this.#elsewhere({ do: 'setPermissionMode', sessionId, mode })) return
    await (await this.#current(sessionId))?.setPermissionMode(mode)
  }

  async stop(sessionId: string): Promise<void> {
    if (await this.#elsewhere({ do: 'stop', sessionId })) return
    await this.#end(sessionId)
    await this.#options.leases?.release(sessionId)
  }

  async #end(sessionId: string): Promise<void> {
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
    await this.#options.leases?.start({
      mail: (letter) => this.#open(letterOf(letter)),
      orphans: (sessionIds, letters) => this.#takeOver(sessionIds, letters.map(letterOf)),
      lost: (sessionIds) => {
        for (const sessionId of sessionIds) this.#lose(sessionId)
      },
    })
    await this.#recoverStrays(RESTARTED)
  }

  /** Sessions that look as if an agent ran, which nobody runs: who should have may have died before it said so. */
  async #recoverStrays(message: string): Promise<void> {
    const { desk, leases } = this.#options
    const taken = await leases?.taken()
    let after: string | undefined
    do {
      const page = await desk.sessions({ limit: 500, ...(after !== undefined && { after }) })
      for (const { id, agent, status, updatedAt } of page.items) {
        if (agent === null || !isActive(status)) continue
        if (!taken || !(taken.sessionIds.has(id) || updatedAt > taken.since))
          await this.#recoverOne(id, message)
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
    await this.#options.leases?.close()
  }

  /** Hands a command to the process that runs the agent, if that is another; `take` makes it this one if it is none. */
  async #elsewhere(letter: Letter, take = false): Promise<boolean> {
    const { leases } = this.#options
    if (!leases) return false
    const { sessionId } = letter
    const lease = take ? await leases.acquire(sessionId) : await leases.find(sessionId)
    if (!lease || lease.mine) return false
    await leases.post(lease.owner, jsonOf(letter))
    return true
  }

  async #open(letter: Letter): Promise<void> {
    const { sessionId } = letter
    try {
      switch (letter.do) {
        case 'send': {
          const { text, turnId } = letter
          const { state } = await this.#options.desk.snapshot(sessionId)
          // Ended on the way here: its person has been told.
          if (state.activeTurnId === turnId) await this.send(sessionId, { text, turnId })
          return
        }
        case 'setPermissionMode':
          return await this.setPermissionMode(sessionId, letter.mode)
        default:
          return await this[letter.do](sessionId)
      }
    } catch (error) {
      if (!isMissing(error)) this.#options.onError(error)
    }
  }

  /** The process that ran these agents is gone. What is pending in them stays pending. */
  async #takeOver(sessionIds: string[], letters: Letter[]): Promise<void> {
    for (const sessionId of sessionIds) {
      const waits = letters.some((letter) => letter.do === 'send' && letter.sessionId === sessionId)
      await this.#takeOne(sessionId, waits).catch(this.#options.onError)
    }
    for (const letter of letters) await this.#open(letter)
    await this.#recoverStrays(TAKEN_OVER)
  }

  async #takeOne(sessionId: string, hasMessage: boolean): Promise<void> {
    const { desk, leases } = this.#options
    if (this.#stopped || !(await leases?.acquire(sessionId))?.mine || this.#running.has(sessionId)) return
    const snapshot = await desk.snapshot(sessionId).catch((error: unknown) => {
      if (isMissing(error)) return null
      throw error
    })
    if (snapshot && snapshot.session.agent !== null && isActive(snapshot.session.status))
      await this.#recoverOne(sessionId, TAKEN_OVER, hasMessage)
    else await leases?.release(sessionId)
  }

  /** Others took this process for dead, and have the session now: its agent is to write nothing more, and ends. */
  #lose(sessionId: string): void {
    this.#options.leases?.forget(sessionId)
    this.#end(sessionId).catch(this.#options.onError)
  }

  async #recoverOne(sessionId: string, message: string, hasMessage = false): Promise<void> {
    const { leases } = this.#options
    if (leases && !(await leases.acquire(sessionId)).mine) return
    if (this.#running.has(sessionId) || this.#cut.has(sessionId)) return
    if (await this.#reconnect(sessionId)) return
    this.#cut.add(sessionId)
    await this.#report(sessionId, { type: 'error', code: AGENT_LOST, message, fatal: false })
    if (!hasMessage) await this.#waitOrEnd(sessionId)
  }

  /** Whether its agent has outlived the gateway that ran it: then the turn goes on as if nothing had happened. */
  async #reconnect(sessionId: string): Promise<boolean> {
    const { desk, leases, onError } = this.#options
    const { session, state } = await desk.snapshot(sessionId)
    const adapter = this.#options.adapters.find(({ id }) => id === session.agent)
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
    else this.#keep(sessionId, Promise.resolve(agent), fence)
    return true
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
    await this.#options.leases?.release(sessionId)
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
    const fence = this.#options.leases?.fence(sessionId)
    const starting = this.#start(sessionId, resume, fence)
    this.#keep(sessionId, starting, fence)
    return starting
  }

  #keep(sessionId: string, starting: Promise<AgentProcess>, fence: Fence | undefined): void {
    this.#running.set(sessionId, starting)
    const forget = () => {
      if (this.#running.get(sessionId) === starting) this.#running.delete(sessionId)
    }
    starting
      .then(async (agent) => {
        const ending = await agent.ended
        const isCurrent = this.#running.get(sessionId) === starting
        forget()
        await this.#reportFenced(sessionId, fence, this.#options.live.unfinished(sessionId))
        if (isCurrent && ending.how !== 'stopped') await this.#gone(sessionId, ending)
        const isOver = !this.#stopped && !this.#running.has(sessionId) && !this.#cut.has(sessionId)
        if (isOver) await this.#options.leases?.release(sessionId)
      })
      .catch((error: unknown) => {
        forget()
        if (!this.#stopped && !(error instanceof AskbackError)) this.#options.onError(error)
      })
  }

  async #start(
    sessionId: string,
    resume: AgentContext['resume'],
    fence: Fence | undefined,
  ): Promise<AgentProcess> {
    const { session } = await this.#options.desk.snapshot(sessionId)
    const adapter = this.#options.adapters.find(({ id }) => id === session.agent)
    if (!adapter) throw new AskbackError('unavailable', `The agent ${session.agent} is not installed here.`)
    const env = (await this.#options.env?.(sessionId)) ?? {}
    return adapter.start({ ...(await this.#contextOf(sessionId, fence)), env, resume })
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
      session: desk.session(sessionId, {}, fence),
      report: (...events) => this.#reportOf(sessionId, fence, events),
      live: (delta) => live.emit(sessionId, delta),
    }
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

  #report(sessionId: string, ...events: Reported[]): Promise<void> {
    return this.#reportFenced(sessionId, this.#options.leases?.fence(sessionId), events)
  }

  async #reportFenced(sessionId: string, fence: Fence | undefined, events: Reported[]): Promise<void> {
    if (events.length > 0) await this.#options.desk.report({ sessionId, events, fence })
  }

  /** What the agent tells. One that was taken over gets no answer any more: it must not go on as if it had been heard. */
  async #reportOf(sessionId: string, fence: Fence | undefined, events: Reported[]): Promise<void> {
    try {
      await this.#reportFenced(sessionId, fence, events)
    } catch (error) {
      if (!fence || !(error instanceof AskbackError) || error.code !== 'forbidden') throw error
      this.#lose(sessionId)
      await new Promise(() => undefined)
    }
  }
}

const RESTARTED = 'The agent was stopped by a restart of the gateway.'
const TAKEN_OVER = 'The gateway that ran the agent is gone. Another one has taken over.'

function isActive(status: SessionStatus): boolean {
  return status === 'running' || status === 'waiting'
}

function isMissing(error: unknown): boolean {
  return error instanceof AskbackError && error.code === 'not_found'
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
