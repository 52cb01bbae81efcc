import type { Interaction } from '@askback/protocol'

export interface Waiter {
  sessionId: string
  /** Where it waits now: a reprompt moves it. */
  interactionId: string
  /** Named in `interaction_delivered`; one without only looks on. */
  to: string | null
  /** Its claim is part of an append that is under way: until that ends, nothing else ends the wait. */
  claiming: boolean
  /** The append that would have made its claim failed. */
  released: () => void
  resolve: (interaction: Interaction) => void
  reject: (error: unknown) => void
}

/** Who waits in this process. */
export class Waiters {
  readonly #byInteraction = new Map<string, Waiter[]>()

  add(waiter: Waiter): void {
    const waiting = this.#byInteraction.get(waiter.interactionId)
    if (waiting) waiting.push(waiter)
    else this.#byInteraction.set(waiter.interactionId, [waiter])
  }

  remove(waiter: Waiter): void {
    const rest = this.#byInteraction.get(waiter.interactionId)?.filter((one) => one !== waiter)
    if (rest?.length) this.#byInteraction.set(waiter.interactionId, rest)
    else this.#byInteraction.delete(waiter.interactionId)
  }

  /** The first that claims: the append that is being decided makes its claim. */
  claim(interactionId: string): Waiter | null {
    const waiter = this.#byInteraction.get(interactionId)?.find((one) => one.to !== null && !one.claiming)
    if (!waiter) return null
    waiter.claiming = true
    return waiter
  }

  /** Takes everyone off an interaction. */
  take(interactionId: string): Waiter[] {
    const waiting = this.#byInteraction.get(interactionId)
    if (!waiting) return []
    this.#byInteraction.delete(interactionId)
    return waiting
  }

  has(interactionId: string): boolean {
    return this.#byInteraction.has(interactionId)
  }

  /** The interactions that are waited for, in one session or all. */
  interactions(sessionId?: string): { sessionId: string; interactionId: string }[] {
    return [...this.#byInteraction.values()]
      .map(([first]) => first!)
      .filter((waiter) => sessionId === undefined || waiter.sessionId === sessionId)
      .map(({ sessionId: session, interactionId }) => ({ sessionId: session, interactionId }))
  }

  get size(): number {
    return this.#byInteraction.size
  }

  rejectAll(error: unknown): void {
    const all = [...this.#byInteraction.values()].flat()
    this.#byInteraction.clear()
    for (const waiter of all) waiter.reject(error)
  }
}
