import { AskbackError, type Interaction } from '@askback/protocol'
import type { Fence } from '../store/store.js'

/** What ends a wait: as much of an `AbortSignal` as it takes. */
export interface StopSignal {
  readonly aborted: boolean
  readonly reason?: unknown
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/** At once: one that cannot be let go would be in the way of whoever answers. */
export function checkSignal(signal: unknown): asserts signal is StopSignal {
  const { addEventListener, removeEventListener } = Object(signal) as Partial<StopSignal>
  if (typeof addEventListener === 'function' && typeof removeEventListener === 'function') return
  throw new AskbackError('invalid_request', 'The signal is no AbortSignal.')
}

/** Someone in this process who waits for a settlement. A class, as a hundred thousand of them may wait at once. */
export class Waiter {
  readonly sessionId: string
  /** Where it waits now: a reprompt moves it. */
  interactionId: string
  /** Named in `interaction_delivered`; one without only looks on. */
  readonly to: string | null
  /** Of the agent that it waits for. */
  readonly fence: Fence | undefined
  /** Its claim is part of an append that is under way: until that ends, nothing else ends the wait. */
  claiming = false
  readonly #view: (interaction: Interaction) => unknown
  #resolve: (view: unknown) => void
  #reject: (error: unknown) => void
  #abort: { signal: StopSignal; listener: () => void } | null = null

  constructor(
    target: { sessionId: string; interactionId: string; to: string | null; fence?: Fence | undefined },
    view: (interaction: Interaction) => unknown,
    resolve: (view: unknown) => void,
    reject: (error: unknown) => void,
  ) {
    this.sessionId = target.sessionId
    this.interactionId = target.interactionId
    this.to = target.to
    this.fence = target.fence
    this.#view = view
    this.#resolve = resolve
    this.#reject = reject
  }

  /** `aborted` is called when the signal ends the wait, which then rejects. */
  heed(signal: StopSignal, aborted: () => void): void {
    const listener = () => {
      if (this.claiming) return
      aborted()
      this.reject(signal.reason)
    }
    this.#abort = { signal, listener }
    signal.addEventListener('abort', listener)
    // It may have been aborted on the way here, and would not say so again.
    if (signal.aborted) listener()
  }

  /** The append that would have made its claim failed. */
  released(): void {
    this.claiming = false
    if (this.#abort?.signal.aborted) this.#abort.listener()
  }

  resolve(interaction: Interaction): void {
    const [resolve, reject] = this.#leave()
    try {
      resolve(this.#view(interaction))
    } catch (error) {
      reject(error)
    }
  }

  reject(error: unknown): void {
    const [, reject] = this.#leave()
    reject(error)
  }

  /**
   * Lets go of whoever waited: the tables that a `Map` of waiters has outgrown may still hold this one, and would keep them
   * in memory for as long.
   */
  #leave() {
    const ends = [this.#resolve, this.#reject] as const
    this.#abort?.signal.removeEventListener('abort', this.#abort.listener)
    this.#abort = null
    this.#resolve = nobody
    this.#reject = nobody
    return ends
  }
}

/** Who waits in this process. */
export class Waiters {
  /** Mostly one: a list for each would be as large as the waiter. */
  readonly #byInteraction = new Map<string, Waiter | Waiter[]>()
  /** The interactions of each session; kept from when it is first asked for, which is where others append too. */
  #bySession: Map<string, Set<string>> | null = null

  /** Why nobody waits here any more. */
  #over: { error: unknown } | null = null

  add(waiter: Waiter): void {
    if (this.#over) return waiter.reject(this.#over.error)
    const { interactionId } = waiter
    const others = this.#of(interactionId)
    this.#byInteraction.set(interactionId, others.length === 0 ? waiter : [...others, waiter])
    if (this.#bySession) file(this.#bySession, waiter)
  }

  remove(waiter: Waiter): void {
    const rest = this.#of(waiter.interactionId).filter((one) => one !== waiter)
    if (rest.length > 0) this.#byInteraction.set(waiter.interactionId, rest)
    else this.#drop(waiter)
  }

  /** The first waiter that would claim a settlement of this interaction. */
  claimant(interactionId: string): Waiter | null {
    const waiting = this.#byInteraction.get(interactionId)
    const waiter = Array.isArray(waiting) ? waiting.find(canClaim) : waiting
    return waiter && canClaim(waiter) ? waiter : null
  }

  /** Takes everyone off an interaction. */
  take(interactionId: string): Waiter[] {
    const waiting = this.#of(interactionId)
    if (waiting.length > 0) this.#drop(waiting[0]!)
    return waiting
  }

  has(interactionId: string): boolean {
    return this.#byInteraction.has(interactionId)
  }

  /** The interactions that are waited for, in one session or all. */
  interactions(sessionId?: string): { sessionId: string; interactionId: string }[] {
    if (sessionId === undefined) {
      return this.#first().map(({ sessionId: session, interactionId }) => ({
        sessionId: session,
        interactionId,
      }))
    }
    if (!this.#bySession) {
      this.#bySession = new Map()
      for (const waiter of this.#first()) file(this.#bySession, waiter)
    }
    return [...(this.#bySession.get(sessionId) ?? [])].map((interactionId) => ({ sessionId, interactionId }))
  }

  isWaitedIn(sessionId: string): boolean {
    return this.#byInteraction.size > 0 && this.interactions(sessionId).length > 0
  }

  get size(): number {
    return this.#byInteraction.size
  }

  /** Whose claim is under way gets what it claims: nobody else could any more. */
  rejectAll(error: unknown): void {
    this.#over = { error }
    for (const waiter of [...this.#byInteraction.values()].flat()) this.end(waiter)
  }

  /** When all is over. */
  end(waiter: Waiter): void {
    if (!this.#over || waiter.claiming) return
    this.remove(waiter)
    waiter.reject(this.#over.error)
  }

  #of(interactionId: string): Waiter[] {
    const waiting = this.#byInteraction.get(interactionId)
    if (waiting === undefined) return []
    return waiting instanceof Waiter ? [waiting] : waiting
  }

  /** One for each interaction. */
  #first(): Waiter[] {
    return [...this.#byInteraction.values()].map((waiting) =>
      waiting instanceof Waiter ? waiting : waiting[0]!,
    )
  }

  #drop({ sessionId, interactionId }: Waiter): void {
    this.#byInteraction.delete(interactionId)
    const filed = this.#bySession?.get(sessionId)
    filed?.delete(interactionId)
    if (filed?.size === 0) this.#bySession?.delete(sessionId)
  }
}

function nobody(): void {}

function canClaim({ to, claiming }: Waiter): boolean {
  return to !== null && !claiming
}

function file(bySession: Map<string, Set<string>>, { sessionId, interactionId }: Waiter): void {
  const filed = bySession.get(sessionId)
  if (filed) filed.add(interactionId)
  else bySession.set(sessionId, new Set([interactionId]))
}
