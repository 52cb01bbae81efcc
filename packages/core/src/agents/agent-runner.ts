import {
  AskbackError,
  type EventOf,
  type PermissionMode,
  type SessionStateJson,
  type SessionStatus,
} from '@askback/protocol'
import { systemClock } from '../clock.js'
import type { Reported } from '../decide/command.js'
import { AGENT_LOST } from '../decide/report.js'
import type { Lease } from '../cluster/leases.js'
import { Retry } from '../retry.js'
import type { AgentContext, Ending } from './agent.js'
import { AgentProcesses, type AgentProcessesOptions } from './agent-processes.js'
import { InterruptedSessions } from './interrupted-sessions.js'
import { jsonOf, letterOf, type Letter } from './letters.js'
import { GivenUp } from './running-agent.js'

/** In one turn: an agent that falls over what it was told would be started again for ever. */
const MOST_LOSSES = 3

/** Starts, feeds and ends the agents of this process' sessions, and takes up what a restart cut. */
export class AgentRunner {
  readonly #options: AgentProcessesOptions
  readonly #processes: AgentProcesses
  readonly #interrupted: InterruptedSessions
  readonly #retry: Retry
  /** How often the agent of a turn that is open was lost. */
  readonly #losses = new Map<string, number>()
  readonly #acquiring = new Map<string, Promise<Lease | undefined>>()
  /** How many are about to start the agent of a session. */
  readonly #starting = new Map<string, number>()
  readonly #stopListening: () => void

  constructor(options: AgentProcessesOptions) {
    this.#options = options
    this.#retry = new Retry(options.clock ?? systemClock, options.onError)
    this.#processes = new AgentProcesses(options, {
      ended: (...ended) => this.#ended(...ended),
      fencedOff: (sessionId) => this.#lose(sessionId),
    })
    this.#interrupted = new InterruptedSessions(options.desk, (sessionId) => {
      void this.#repeated(() => this.#resume(sessionId))
    })
    this.#stopListening = options.desk.on(({ sessionId, events }) => {
      options.live.finished(sessionId, events)
      for (const event of events) if (event.type === 'turn_ended') this.#losses.delete(event.turnId)
    })
  }

  async send(sessionId: string, message: { text: string; turnId: string }): Promise<void> {
    try {
      const agent = await this.#keepLease(sessionId, async () => {
        if (await this.#elsewhere({ do: 'send', sessionId, ...message }, true)) return null
        return { started: this.#processes.start(sessionId, await this.#takeCut(sessionId)) }
      })
      await (await agent?.started)?.send(message)
    } catch (error) {
      await this.#failed(sessionId, message.turnId, error)
    }
  }

  /** What settles meanwhile does not start a lost agent again: it would only hear that it was stopped. */
  async unwoken(
    sessionId: string,
    stop: () => Promise<{ repeated: boolean }>,
  ): Promise<{ repeated: boolean }> {
    const wasInterrupted = this.#interrupted.delete(sessionId)
    let repeated = true
    try {
      ;({ repeated } = await stop())
      return { repeated }
    } finally {
      // Nothing was stopped.
      if (wasInterrupted && repeated) {
        await this.#interrupted.add(sessionId)
        await this.#resumeIfAnswered(sessionId)
      }
    }
  }

  /** The desk has cancelled what was pending. */
  async interrupt(sessionId: string): Promise<void> {
    if (await this.#elsewhere({ do: 'interrupt', sessionId })) return
    const turnId = await this.#activeTurn(sessionId)
    if (!(await this.#processes.interrupt(sessionId))) await this.#processes.end(sessionId)
    await this.#endTurn(sessionId, turnId)
  }

  /** The next message starts a fresh context. */
  async clear(sessionId: string): Promise<void> {
    if (await this.#elsewhere({ do: 'clear', sessionId })) return
    const turnId = await this.#activeTurn(sessionId)
    await this.stop(sessionId)
    await this.#endTurn(sessionId, turnId)
  }

  async setPermissionMode(sessionId: string, mode: PermissionMode): Promise<void> {
    if (await this.#elsewhere({ do: 'setPermissionMode', sessionId, mode })) return
    await this.#processes.setPermissionMode(sessionId, mode)
  }

  async stop(sessionId: string): Promise<void> {
    if (await this.#elsewhere({ do: 'stop', sessionId })) return
    await this.#end(sessionId)
    await this.#release(sessionId)
  }

  async #end(sessionId: string): Promise<void> {
    this.#interrupted.delete(sessionId)
    await this.#processes.end(sessionId)
  }

  /** At start: sessions whose agent went down with the last process. What is pending in them stays pending. */
  async recover(): Promise<void> {
    for (const adapter of this.#options.agents.adapters) {
      await adapter.recover?.().catch((error: unknown) => this.#options.onError(error))
    }
    await this.#options.leases?.start({
      mail: (letter) => this.#open(letterOf(letter)),
      orphans: (sessionIds, letters) => this.#takeOver(sessionIds, letters.map(letterOf)),
      lost: (sessionIds) => {
        for (const sessionId of sessionIds) this.#lose(sessionId)
      },
    })
    await this.#retry.untilDone(() => this.#recoverStrays(RESTARTED))
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
        if (taken && (taken.sessionIds.has(id) || updatedAt > taken.since)) continue
        // One whose log cannot be read must not keep the others waiting.
        await this.#repeated(() => this.#recoverOne(id, message))
      }
      after = page.next ?? undefined
    } while (after !== undefined)
  }

  /** Ends every process; sessions stay as they are and are recovered at the next start. */
  async stopAll(): Promise<void> {
    this.#retry.end()
    this.#stopListening()
    await this.#processes.stopAll()
    await this.#options.leases?.close()
  }

  /** Hands a command to the process that runs the agent, if that is another; `take` makes it this one if it is none. */
  async #elsewhere(letter: Letter, take = false): Promise<boolean> {
    const { leases } = this.#options
    if (!leases) return false
    const { sessionId } = letter
    const lease = take ? await this.#acquire(sessionId) : await leases.find(sessionId)
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
          // Ended on the way here: its person has been told.
          return await this.#repeated(async () => {
            if ((await this.#activeTurn(sessionId)) === turnId) await this.send(sessionId, { text, turnId })
          })
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
      await this.#repeated(() => this.#takeOne(sessionId, waits))
    }
    for (const letter of letters) await this.#open(letter)
    await this.#recoverStrays(TAKEN_OVER)
  }

  async #takeOne(sessionId: string, hasMessage: boolean): Promise<void> {
    const { desk } = this.#options
    if (this.#processes.stopped || !(await this.#acquire(sessionId))?.mine || this.#processes.has(sessionId))
      return
    const snapshot = await desk.snapshot(sessionId, { fresh: true }).catch((error: unknown) => {
      if (isMissing(error)) return null
      throw error
    })
    if (snapshot && snapshot.session.agent !== null && isActive(snapshot.session.status))
      await this.#recoverOne(sessionId, TAKEN_OVER, hasMessage)
    else await this.#release(sessionId)
  }

  /** Others took this process for dead, and have the session now: its agent is to write nothing more, and ends. */
  #lose(sessionId: string): void {
    const { leases } = this.#options
    leases?.forget(sessionId)
    const lose = async () => {
      await this.#end(sessionId)
      // If nobody else has it, this process takes it up again: a turn that nobody runs would never end.
      if (leases && !this.#processes.stopped) await this.#takeOne(sessionId, false)
    }
    void this.#repeated(lose)
  }

  async #recoverOne(sessionId: string, message: string, hasMessage = false): Promise<void> {
    const lease = await this.#acquire(sessionId)
    if (lease && !lease.mine) return
    if (this.#processes.has(sessionId) || this.#interrupted.has(sessionId)) return
    if (await this.#processes.reconnect(sessionId)) return
    await this.#interrupted.add(sessionId)
    await this.#settleCut(sessionId, { message, hasMessage })
  }

  /** Until it is done, unless the session is deleted or another's by then: a turn that nobody runs would never end. */
  #repeated(work: () => Promise<void>): Promise<void> {
    return this.#retry.attempt(() => work().catch(unlessOver))
  }

  async #ended(sessionId: string, ending: Ending, wasCurrent: boolean): Promise<void> {
    await this.#repeated(async () => {
      if (wasCurrent && ending.how !== 'stopped') await this.#gone(sessionId, ending)
      if (!this.#processes.stopped && !this.#interrupted.has(sessionId)) await this.#release(sessionId)
    })
  }

  /** Says why the agent of a cut turn is gone, and ends the turn, unless an answer or a message goes on with it. */
  async #settleCut(
    sessionId: string,
    { message, hasMessage = false }: { message?: string; hasMessage?: boolean },
  ): Promise<void> {
    let isSaid = message === undefined
    await this.#repeated(async () => {
      if (this.#processes.has(sessionId)) return
      if (message !== undefined && !isSaid)
        await this.#processes.report(sessionId, [{ type: 'error', code: AGENT_LOST, message, fatal: false }])
      isSaid = true
      if (!hasMessage) await this.#waitOrEnd(sessionId)
    })
  }

  /** An agent that nobody stopped has ended. What is pending stays so, and its answer starts the agent again. */
  async #gone(sessionId: string, ending: Exclude<Ending, { how: 'stopped' }>): Promise<void> {
    const state = await this.#state(sessionId)
    const turnId = state.activeTurnId
    if (this.#processes.stopped || this.#processes.has(sessionId) || turnId === null) return
    // Before anybody is told: from here on an answer or a message takes the turn up.
    await this.#interrupted.add(sessionId)
    if (ending.how === 'lost') {
      const { message } = ending
      const losses = (this.#losses.get(turnId) ?? 0) + 1
      if (losses > MOST_LOSSES) {
        this.#interrupted.delete(sessionId)
        return this.#failed(sessionId, turnId, new Error(message))
      }
      this.#losses.set(turnId, losses)
    }
    await this.#settleCut(sessionId, ending.how === 'lost' ? { message: ending.message } : {})
  }

  /** Two at once would write the key of the lease anew, and each fence off what the other has begun. */
  #acquire(sessionId: string): Promise<Lease | undefined> {
    const underway = this.#acquiring.get(sessionId)
    if (underway) return underway
    const acquiring = Promise.resolve(this.#options.leases?.acquire(sessionId)).finally(() =>
      this.#acquiring.delete(sessionId),
    )
    this.#acquiring.set(sessionId, acquiring)
    return acquiring
  }

  /** Unless a message starts an agent meanwhile, which needs the lease. */
  async #release(sessionId: string): Promise<void> {
    if (this.#starting.has(sessionId) || this.#processes.has(sessionId)) return
    await this.#options.leases?.release(sessionId)
  }

  /** What `work` starts has the lease from the beginning. */
  async #keepLease<T>(sessionId: string, work: () => Promise<T>): Promise<T> {
    this.#starting.set(sessionId, (this.#starting.get(sessionId) ?? 0) + 1)
    try {
      return await work()
    } finally {
      const left = this.#starting.get(sessionId)! - 1
      if (left > 0) this.#starting.set(sessionId, left)
      else this.#starting.delete(sessionId)
    }
  }

  async #waitOrEnd(sessionId: string): Promise<void> {
    const state = await this.#state(sessionId)
    if (unanswered(state)) return this.#resume(sessionId)
    if (state.pending.length > 0) return
    this.#interrupted.delete(sessionId)
    await this.#endTurn(sessionId, state.activeTurnId, { reason: 'error', cause: AGENT_LOST })
    await this.#release(sessionId)
  }

  async #resumeIfAnswered(sessionId: string): Promise<void> {
    const state = await this.#state(sessionId)
    if (unanswered(state)) await this.#resume(sessionId)
  }

  async #resume(sessionId: string): Promise<void> {
    const cut = await this.#keepLease(sessionId, async () => {
      const taken = await this.#takeCut(sessionId)
      return taken && { turnId: taken.turnId, started: this.#processes.start(sessionId, taken) }
    })
    try {
      await cut?.started
    } catch (error) {
      await this.#failed(sessionId, cut!.turnId, error)
    }
  }

  /** What the agent of a cut turn has to take up; once. */
  async #takeCut(sessionId: string): Promise<AgentContext['resume']> {
    if (!this.#interrupted.has(sessionId)) return null
    const state = await this.#state(sessionId)
    // Not before: if that fails it is still to be taken up.
    if (!this.#interrupted.delete(sessionId)) return null
    return state.activeTurnId === null ? null : { turnId: state.activeTurnId, state }
  }

  async #failed(sessionId: string, turnId: string, error: unknown): Promise<void> {
    if (error instanceof GivenUp) return
    const message = error instanceof Error ? error.message : String(error)
    const failure: Reported[] = [
      { type: 'error', code: 'agent_failed', message, fatal: true },
      { type: 'turn_ended', turnId, reason: 'error' },
    ]
    await this.#repeated(() => this.#processes.report(sessionId, failure))
  }

  /** As it is in the store: a command can come before the news of what it is about. */
  async #state(sessionId: string): Promise<SessionStateJson> {
    return (await this.#options.desk.snapshot(sessionId, { fresh: true })).state
  }

  async #activeTurn(sessionId: string): Promise<string | null> {
    return (await this.#state(sessionId)).activeTurnId
  }

  /** Unless it has ended by itself. A message may have begun the next one meanwhile, which goes on. */
  async #endTurn(
    sessionId: string,
    turnId: string | null,
    end: Pick<EventOf<'turn_ended'>, 'reason' | 'cause'> = { reason: 'interrupted' },
  ): Promise<void> {
    if (turnId === null || (await this.#activeTurn(sessionId)) !== turnId) return
    const left = this.#options.live.unfinished(sessionId)
    await this.#processes.report(sessionId, [
      ...left.map((event) => ({ ...event, turnId })),
      { type: 'turn_ended', turnId, ...end },
    ])
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

/** Deleted, or another process' by now. */
function unlessOver(error: unknown): void {
  const isOver = error instanceof AskbackError && ['not_found', 'forbidden'].includes(error.code)
  if (!isOver) throw error
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
