import type { Interaction, NewEventOf, SessionState } from '@askback/protocol'
import type { Context } from './command.js'

/**
 * Tells new events of a report from repeats. An event is a repeat if the session's log has it, or if it came earlier in the same
 * report. Each `is…` and `has…` method answers for one event and remembers it, so the second call for the same event returns
 * false.
 */
export class ReportDedupe {
  readonly #state: SessionState
  readonly #context: Context
  readonly #calls = new Set<string>()
  readonly #ended = new Set<string>()
  readonly #cancelled = new Set<string>()
  readonly #blocks = new Set<string>()
  readonly #endedTurns = new Set<string>()
  #activeTurnId: string | null
  #agentSessionId: string | null

  constructor(state: SessionState, context: Context) {
    this.#state = state
    this.#context = context
    this.#activeTurnId = state.activeTurnId
    this.#agentSessionId = state.agentSessionId
  }

  knowsCall(id: string): boolean {
    return this.#calls.has(id) || this.#state.toolCalls.has(id) || this.#context.knownCalls?.has(id) === true
  }

  isNewCall(id: string): boolean {
    if (this.knowsCall(id)) return false
    this.#calls.add(id)
    return true
  }

  /** The last interaction about a call that was never reported. */
  placeholderOf(id: string): Interaction | undefined {
    const inWindow = [...this.#state.interactions.values()].findLast((item) => item.toolCallId === id)
    return inWindow ?? this.#context.placeholders?.get(id)
  }

  isFirstResult(id: string): boolean {
    const ended =
      this.#ended.has(id) ||
      this.#state.toolCalls.get(id)?.result !== undefined ||
      this.#context.knownCalls?.get(id)?.ended === true
    this.#ended.add(id)
    return !ended
  }

  isNewTurn(turnId: string): boolean {
    if (turnId === this.#activeTurnId || this.#hasEnded(turnId)) return false
    this.#activeTurnId = turnId
    return true
  }

  isFirstEndOfTurn(turnId: string): boolean {
    const begun = turnId === this.#activeTurnId || this.#state.turns.some((turn) => turn.turnId === turnId)
    if (!begun || this.#hasEnded(turnId)) return false
    this.#endedTurns.add(turnId)
    if (turnId === this.#activeTurnId) this.#activeTurnId = null
    return true
  }

  /** Compares all fields and not the id alone, because an adapter may number the blocks of each response from 1 again. */
  isNewBlock({
    type,
    blockId,
    text,
    turnId = this.#activeTurnId ?? undefined,
    responseId,
  }: NewEventOf<'text' | 'thinking'>): boolean {
    const key = JSON.stringify([type, blockId, text, turnId, responseId])
    const turn = this.#state.turns.findLast((one) => one.turnId === (turnId ?? null))
    const known = turn?.items.some(
      (item) =>
        item.type === type && item.id === blockId && item.text === text && item.responseId === responseId,
    )
    if (known || this.#blocks.has(key)) return false
    this.#blocks.add(key)
    return true
  }

  isNewAgentSession(agentSessionId: string): boolean {
    if (agentSessionId === this.#agentSessionId) return false
    this.#agentSessionId = agentSessionId
    return true
  }

  hasContextToClear(): boolean {
    const had = this.#agentSessionId !== null
    this.#agentSessionId = null
    return had
  }

  /** An interaction settles once (L3), even if one report has two reasons to cancel it. */
  isFirstCancel({ interactionId }: Interaction): boolean {
    if (this.#cancelled.has(interactionId)) return false
    this.#cancelled.add(interactionId)
    return true
  }

  #hasEnded(turnId: string): boolean {
    if (this.#endedTurns.has(turnId)) return true
    return this.#state.turns.some((turn) => turn.turnId === turnId && turn.endedAt !== undefined)
  }
}
