import type { Interaction, NewEventOf, SessionState } from '@askback/protocol'
import type { Context } from './command.js'

type Block = NewEventOf<'text' | 'thinking'>

/** What the log and this very report have told so far. */
export class Told {
  readonly #state: SessionState
  readonly #context: Context
  readonly #calls = new Set<string>()
  readonly #ended = new Set<string>()
  readonly #closed = new Set<string>()
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

  knows(id: string): boolean {
    return this.#calls.has(id) || this.#state.toolCalls.has(id) || this.#context.knownCalls?.has(id) === true
  }

  call(id: string): boolean {
    if (this.knows(id)) return false
    this.#calls.add(id)
    return true
  }

  /** What was asked last about a call that nobody has reported. */
  placeholder(id: string): Interaction | undefined {
    const inWindow = [...this.#state.interactions.values()].findLast((item) => item.toolCallId === id)
    return inWindow ?? this.#context.placeholders?.get(id)
  }

  end(id: string): boolean {
    const ended =
      this.#ended.has(id) ||
      this.#state.toolCalls.get(id)?.result !== undefined ||
      this.#context.knownCalls?.get(id)?.ended === true
    this.#ended.add(id)
    return !ended
  }

  startTurn(turnId: string): boolean {
    if (turnId === this.#activeTurnId || this.#hasEnded(turnId)) return false
    this.#activeTurnId = turnId
    return true
  }

  endTurn(turnId: string): boolean {
    const begun = turnId === this.#activeTurnId || this.#state.turns.some((turn) => turn.turnId === turnId)
    if (!begun || this.#hasEnded(turnId)) return false
    this.#endedTurns.add(turnId)
    if (turnId === this.#activeTurnId) this.#activeTurnId = null
    return true
  }

  /** Only the very same block counts as told: an adapter may number those of each response anew. */
  block({ type, blockId, text, turnId = this.#activeTurnId ?? undefined, responseId }: Block): boolean {
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

  agentSession(agentSessionId: string): boolean {
    if (agentSessionId === this.#agentSessionId) return false
    this.#agentSessionId = agentSessionId
    return true
  }

  clearContext(): boolean {
    const had = this.#agentSessionId !== null
    this.#agentSessionId = null
    return had
  }

  /** Two reasons to cancel in one report settle an interaction once (L3). */
  closes({ interactionId }: Interaction): boolean {
    if (this.#closed.has(interactionId)) return false
    this.#closed.add(interactionId)
    return true
  }

  #hasEnded(turnId: string): boolean {
    if (this.#endedTurns.has(turnId)) return true
    return this.#state.turns.some((turn) => turn.turnId === turnId && turn.endedAt !== undefined)
  }
}
