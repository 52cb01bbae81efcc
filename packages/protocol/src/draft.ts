import { NO_TOOL_CALLS, NO_IDS } from './nothing.js'
import type { Item, SessionState, Turn } from './state.js'

/** Copy on first write. Without a record of what is fresh it owns everything and writes in place. */
export class Draft {
  readonly state: SessionState
  readonly turnsKept: number
  readonly #fresh: Set<object> | null

  constructor(state: SessionState, fresh: Set<object> | null, turnsKept: number) {
    this.turnsKept = turnsKept
    this.state = fresh ? { ...state } : state
    this.#fresh = fresh
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

  adrift() {
    return (this.state.adrift = this.#ownSet(this.state.adrift))
  }

  callsAdrift() {
    return (this.state.callsAdrift = this.#ownSet(this.state.callsAdrift))
  }

  turns() {
    return (this.state.turns = this.#own(this.state.turns, (turns) => [...turns]))
  }

  turn(index: number): Turn {
    const turns = this.turns()
    return (turns[index] = this.#own(turns[index]!, (turn) => ({ ...turn, items: [...turn.items] })))
  }

  /** Here and in `place`: a first push would make room for sixteen more, in each of a hundred thousand sessions. */
  begin(turn: Turn): void {
    if (this.state.turns.length > 0) this.turns().push(turn)
    else this.state.turns = this.#own([turn], (turns) => turns)
  }

  place(index: number, item: Item): void {
    const turn = this.turn(index)
    if (turn.items.length > 0) turn.items.push(item)
    else turn.items = [item]
  }

  #ownMap<Value>(map: ReadonlyMap<string, Value>): Map<string, Value> {
    return this.#own(map as Map<string, Value>, (others) => new Map(others))
  }

  #ownSet(set: ReadonlySet<string>): Set<string> {
    return this.#own(set as Set<string>, (others) => new Set(others))
  }

  #own<T extends object>(value: T, copy: (value: T) => T): T {
    const owned = this.#fresh ? this.#fresh.has(value) : value !== NO_TOOL_CALLS && value !== NO_IDS
    if (owned) return value
    const copied = copy(value)
    this.#fresh?.add(copied)
    return copied
  }
}
