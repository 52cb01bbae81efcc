import { AskbackError, isRecord, type Interaction } from '@askback/protocol'
import type { Fence } from '../store/store.js'

/** The part of an `AbortSignal` that ends a wait. */
export interface StopSignal {
  readonly aborted: boolean
  readonly reason?: unknown
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/** Checked when the wait begins: a failing `removeEventListener` would otherwise break the answer that ends the wait. */
export function checkSignal(signal: unknown): asserts signal is StopSignal {
  const { addEventListener, removeEventListener } = isRecord(signal) ? signal : {}
  if (typeof addEventListener === 'function' && typeof removeEventListener === 'function') return
  throw new AskbackError('invalid_request', 'The signal must be an AbortSignal.')
}

/** A caller in this process that waits for a settlement. A class without closures, because there may be a hundred thousand. */
export class Waiter {
  readonly sessionId: string
  /** Changes when the interaction is reprompted. */
  interactionId: string
  /** Receiver named in `interaction_delivered`; `null` if it does not claim. */
  readonly to: string | null
  /** Fence of the agent that waits. */
  readonly fence: Fence | undefined
  /** Its claim is part of an append that has not ended yet. Until then an abort must not end the wait. */
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

  /** Rejects when the signal aborts, after calling `aborted`. */
  endOn(signal: StopSignal, aborted: () => void): void {
    const listener = () => {
      if (this.claiming) return
      aborted()
      this.reject(signal.reason)
    }
    this.#abort = { signal, listener }
    signal.addEventListener('abort', listener)
    // A signal that is already aborted emits no event.
    if (signal.aborted) listener()
  }

  /** Called when the append with its claim failed. */
  released(): void {
    this.claiming = false
    if (this.#abort?.signal.aborted) this.#abort.listener()
  }

  resolve(interaction: Interaction): void {
    const [resolve, reject] = this.#detach()
    try {
      resolve(this.#view(interaction))
    } catch (error) {
      reject(error)
    }
  }

  reject(error: unknown): void {
    const [, reject] = this.#detach()
    reject(error)
  }

  /**
   * Drops the references to the caller. A `Map` that has grown may keep deleted waiters in its old table, which would keep their callers
   * in memory.
   */
  #detach() {
    const ends = [this.#resolve, this.#reject] as const
    this.#abort?.signal.removeEventListener('abort', this.#abort.listener)
    this.#abort = null
    this.#resolve = ignore
    this.#reject = ignore
    return ends
  }
}

/** The waiters of this process, by interaction. */
export class Waiters {
  /** Usually there is one waiter, and an array per entry would be as large as the waiter itself. */
  readonly #byInteraction = new Map<string, Waiter | Waiter[]>()
  /** Interactions by session. Built on first use, which only happens on a shared store. */
  #bySession: Map<string, Set<string>> | null = null

  /** Set when the desk is closed: every new waiter is rejected with this error. */
  #closed: { error: unknown } | null = null

  add(waiter: Waiter): void {
    if (this.#closed) return waiter.reject(this.#closed.error)
    const { interactionId } = waiter
    const others = this.#of(interactionId)
    this.#byInteraction.set(interactionId, others.length === 0 ? waiter : [...others, waiter])
    if (this.#bySession) addToSession(this.#bySession, waiter)
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

  /** Removes and returns all waiters of an interaction. */
  take(interactionId: string): Waiter[] {
    const waiting = this.#of(interactionId)
    if (waiting.length > 0) this.#drop(waiting[0]!)
    return waiting
  }

  has(interactionId: string): boolean {
    return this.#byInteraction.has(interactionId)
  }

  /** The interactions that have waiters, of one session or of all. */
  interactions(sessionId?: string): { sessionId: string; interactionId: string }[] {
    if (sessionId === undefined) {
      return this.#firstOfEach().map(({ sessionId: session, interactionId }) => ({
        sessionId: session,
        interactionId,
      }))
    }
    if (!this.#bySession) {
      this.#bySession = new Map()
      for (const waiter of this.#firstOfEach()) addToSession(this.#bySession, waiter)
    }
    return [...(this.#bySession.get(sessionId) ?? [])].map((interactionId) => ({ sessionId, interactionId }))
  }

  hasWaitersIn(sessionId: string): boolean {
    return this.#byInteraction.size > 0 && this.interactions(sessionId).length > 0
  }

  get size(): number {
    return this.#byInteraction.size
  }

  /** Rejects all waiters, except those whose claim is being written: they still get their settlement, because nobody else can. */
  rejectAll(error: unknown): void {
    this.#closed = { error }
    for (const waiter of [...this.#byInteraction.values()].flat()) this.end(waiter)
  }

  /** Rejects a waiter if the desk is closed. */
  end(waiter: Waiter): void {
    if (!this.#closed || waiter.claiming) return
    this.remove(waiter)
    waiter.reject(this.#closed.error)
  }

  #of(interactionId: string): Waiter[] {
    const waiting = this.#byInteraction.get(interactionId)
    if (waiting === undefined) return []
    return waiting instanceof Waiter ? [waiting] : waiting
  }

  /** One waiter per interaction. */
  #firstOfEach(): Waiter[] {
    return [...this.#byInteraction.values()].map((waiting) =>
      waiting instanceof Waiter ? waiting : waiting[0]!,
    )
  }

  #drop({ sessionId, interactionId }: Waiter): void {
    this.#byInteraction.delete(interactionId)
    const ofSession = this.#bySession?.get(sessionId)
    ofSession?.delete(interactionId)
    if (ofSession?.size === 0) this.#bySession?.delete(sessionId)
  }
}

function ignore(): void {}

function canClaim({ to, claiming }: Waiter): boolean {
  return to !== null && !claiming
}

function addToSession(bySession: Map<string, Set<string>>, { sessionId, interactionId }: Waiter): void {
  const ofSession = bySession.get(sessionId)
  if (ofSession) ofSession.add(interactionId)
  else bySession.set(sessionId, new Set([interactionId]))
}
