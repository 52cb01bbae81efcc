import { NO_IDS, NO_TOOL_CALLS, type SessionState, type Turn, type TurnItem } from './state.js'

/**
 * A state that is being folded, with copy on write. Each collection, and each turn, is copied the first time it is written
 * to, so that a fold over many events copies it once and leaves the state it began with alone. Without `copies`, the draft
 * owns the whole state and writes in place; then only the shared empty collections are copied.
 */
export class Draft {
  readonly state: SessionState
  readonly maxTurns: number
  /** The copies that this draft has made, and may write to. */
  readonly #copies: Set<object> | null

  constructor(state: SessionState, copies: Set<object> | null, maxTurns: number) {
    this.maxTurns = maxTurns
    this.state = copies ? { ...state } : state
    this.#copies = copies
  }

  toolCalls() {
    return (this.state.toolCalls = this.#ownMap(this.state.toolCalls))
  }

  interactions() {
    return (this.state.interactions = this.#ownMap(this.state.interactions))
  }

  pendingIds() {
    return (this.state.pendingIds = this.#ownSet(this.state.pendingIds))
  }

  pendingOutsideWindow() {
    return (this.state.pendingOutsideWindow = this.#ownSet(this.state.pendingOutsideWindow))
  }

  callsOutsideWindow() {
    return (this.state.callsOutsideWindow = this.#ownSet(this.state.callsOutsideWindow))
  }

  turns() {
    return (this.state.turns = this.#own(this.state.turns, (turns) => [...turns]))
  }

  turn(index: number): Turn {
    const turns = this.turns()
    return (turns[index] = this.#own(turns[index]!, (turn) => ({ ...turn, items: [...turn.items] })))
  }

  // `push` to an empty array reserves room for sixteen entries. In a hundred thousand sessions with one turn of one item
  // that adds up, so the first entry of an array is not pushed.

  addTurn(turn: Turn): void {
    if (this.state.turns.length > 0) this.turns().push(turn)
    else this.state.turns = this.#own([turn], (turns) => turns)
  }

  addItem(turnIndex: number, item: TurnItem): void {
    const turn = this.turn(turnIndex)
    if (turn.items.length > 0) turn.items.push(item)
    else turn.items = [item]
  }

  #ownMap<Value>(map: ReadonlyMap<string, Value>): Map<string, Value> {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `#own` copies it before its first change, unless the draft made it
    return this.#own(map as Map<string, Value>, (others) => new Map(others))
  }

  #ownSet(set: ReadonlySet<string>): Set<string> {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `#own` copies it before its first change, unless the draft made it
    return this.#own(set as Set<string>, (others) => new Set(others))
  }

  #own<T extends object>(value: T, copy: (value: T) => T): T {
    const isOwned = this.#copies ? this.#copies.has(value) : value !== NO_TOOL_CALLS && value !== NO_IDS
    if (isOwned) return value
    const copied = copy(value)
    this.#copies?.add(copied)
    return copied
  }
}
