import {
  errorMessage,
  type EventOf,
  type SessionEvent,
  type SessionStateJson,
  type SessionStatus,
} from '@askback/protocol'
import type { AgentProcesses, AgentProcessesOptions } from './agent-processes.js'

/** Limit of losses in one turn: an agent that crashes on its input would otherwise be started again and again. */
const MAX_LOSSES = 3

/** The open turns of sessions as their logs show them: which one is open, how it ends, and how often its agent was lost. */
export class OpenTurns {
  readonly #options: AgentProcessesOptions
  readonly #processes: AgentProcesses
  /** Losses of the agent, by open turn. */
  readonly #losses = new Map<string, number>()

  constructor(options: AgentProcessesOptions, processes: AgentProcesses) {
    this.#options = options
    this.#processes = processes
  }

  /** Reads the store: a command can arrive before the events that it is about. */
  async state(sessionId: string): Promise<SessionStateJson> {
    return (await this.#options.desk.snapshot(sessionId, { fresh: true })).state
  }

  /** The id of the open turn, or `null`. */
  async active(sessionId: string): Promise<string | null> {
    return (await this.state(sessionId)).activeTurnId
  }

  /** Does nothing if the turn has ended. A message may have started the next turn meanwhile, which is not affected. */
  async end(
    sessionId: string,
    turnId: string,
    end: Pick<EventOf<'turn_ended'>, 'reason' | 'cause'> = { reason: 'interrupted' },
  ): Promise<void> {
    if ((await this.active(sessionId)) !== turnId) return
    const left = this.#options.live.unfinished(sessionId)
    await this.#processes.report(sessionId, [
      ...left.map((event) => ({ ...event, turnId })),
      { type: 'turn_ended', turnId, ...end },
    ])
  }

  /** Ends the turn with an error that the person sees. */
  async fail(sessionId: string, turnId: string, error: unknown): Promise<void> {
    const message = errorMessage(error)
    await this.#processes.report(sessionId, [
      { type: 'error', code: 'agent_failed', message, fatal: true },
      { type: 'turn_ended', turnId, reason: 'error' },
    ])
  }

  countLoss(turnId: string): void {
    this.#losses.set(turnId, (this.#losses.get(turnId) ?? 0) + 1)
  }

  /** Whether its agent was lost so often that it is not started again. */
  isHopeless(turnId: string): boolean {
    return (this.#losses.get(turnId) ?? 0) > MAX_LOSSES
  }

  /** Forgets the losses of turns that have ended. */
  update(events: readonly SessionEvent[]): void {
    for (const event of events) if (event.type === 'turn_ended') this.#losses.delete(event.turnId)
  }
}

/** Whether a session of this status has an open turn. */
export function hasOpenTurn(status: SessionStatus): boolean {
  return status === 'running' || status === 'waiting'
}

/** Whether the open turn has a settlement that its agent has not acted on, as far as the log shows (L10). */
export function hasUnusedSettlement(state: SessionStateJson): boolean {
  const open = state.turns.find((turn) => turn.turnId !== null && turn.turnId === state.activeTurnId)
  const ids = new Set(open?.items.map((item) => (item.type === 'interaction' ? item.interactionId : null)))
  const ended = new Set(state.toolCalls.map((call) => (call.result ? call.toolCallId : null)))
  return state.interactions.some(
    ({ interactionId, toolCallId, settlement }) =>
      ids.has(interactionId) && settlement !== 'superseded' && !ended.has(toolCallId),
  )
}
