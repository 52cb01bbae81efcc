import type { SessionState, Turn } from './state.js'

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
    return (this.state.toolCalls = this.#own(this.state.toolCalls, (map) => new Map(map)))
  }

  interactions() {
    return (this.state.interactions = this.#own(this.state.interactions, (map) => new Map(map)))
  }

  pending() {
    return (this.state.pending = this.#own(this.state.pending, (set) => new Set(set)))
  }

  adrift() {
    return (this.state.adrift = this.#own(this.state.adrift, (set) => new Set(set)))
  }

  turns() {
    return (this.state.turns = this.#own(this.state.turns, (turns) => [...turns]))
  }

  turn(index: number): Turn {
    const turns = this.turns()
    return (turns[index] = this.#own(turns[index]!, (turn) => ({ ...turn, items: [...turn.items] })))
  }

  #own<T extends object>(value: T, copy: (value: T) => T): T {
    if (!this.#fresh || this.#fresh.has(value)) return value
    const copied = copy(value)
    this.#fresh.add(copied)
    return copied
  }
}
