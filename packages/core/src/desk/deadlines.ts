import { AskbackError, type Interaction, type SessionEvent } from '@askback/protocol'
import type { Clock } from '../clock.js'

// Settles interactions at their deadlines. `Deadlines` decides what to do, `DeadlineHeap` when.

/** Pause before a deadline that could not be settled is tried again, in milliseconds. */
const RETRY_MS = 1000

type WithDeadline = Pick<Interaction, 'sessionId' | 'interactionId' | 'expiresAt' | 'onTimeout'>

interface DeadlinePorts {
  clock: Clock
  /** Runs the `expire` command and resolves to the interaction after it. */
  expire: (sessionId: string, interactionId: string) => Promise<Interaction | undefined>
  onError: (error: unknown) => void
}

export class Deadlines {
  readonly #ports: DeadlinePorts
  readonly #deadlines: DeadlineHeap
  #closed = false

  constructor(ports: DeadlinePorts) {
    this.#ports = ports
    this.#deadlines = new DeadlineHeap(ports.clock, ({ sessionId, interactionId }) =>
      this.#expire(sessionId, interactionId),
    )
  }

  /** Does nothing if the interaction has a deadline already: it may be the retry of one that failed. */
  set(sessionId: string, interactionId: string, at: number): void {
    if (!this.#closed && !this.#deadlines.has(interactionId))
      this.#deadlines.set({ sessionId, interactionId, at })
  }

  schedule({ sessionId, interactionId, expiresAt, onTimeout }: WithDeadline): void {
    if (expiresAt !== undefined && onTimeout !== 'keep') this.set(sessionId, interactionId, expiresAt)
  }

  /** Also for events that other processes append: the process that opened an interaction may be down at its deadline. */
  update(events: SessionEvent[]): void {
    for (const event of events) {
      if (event.type === 'interaction_request') this.schedule(event)
      if (event.type === 'interaction_response') this.#deadlines.delete(event.interactionId)
    }
  }

  close(): void {
    this.#closed = true
    this.#deadlines.clear()
  }

  #expire(sessionId: string, interactionId: string): void {
    const { clock, expire, onError } = this.#ports
    expire(sessionId, interactionId).then(
      // Still pending if the clock was set back in between.
      (item) => item?.status === 'pending' && this.schedule(item),
      (error: unknown) => {
        if (this.#closed || (error instanceof AskbackError && error.code === 'not_found')) return
        onError(error)
        this.#deadlines.set({ sessionId, interactionId, at: clock.now() + RETRY_MS })
      },
    )
  }
}

interface InteractionDeadline {
  sessionId: string
  interactionId: string
  at: number
}

/**
 * A binary heap of deadlines with one alarm for the earliest. Most interactions are answered long before their deadline, so a deleted
 * entry stays in the heap until it is the earliest, or until more than half of the heap is deleted.
 */
export class DeadlineHeap {
  readonly #clock: Clock
  readonly #onDue: (deadline: InteractionDeadline) => void
  readonly #byInteraction = new Map<string, InteractionDeadline>()
  #heap: InteractionDeadline[] = []
  #alarm: { at: number; disarm: () => void } | null = null

  constructor(clock: Clock, due: (deadline: InteractionDeadline) => void) {
    this.#clock = clock
    this.#onDue = due
  }

  has(interactionId: string): boolean {
    return this.#byInteraction.has(interactionId)
  }

  set(deadline: InteractionDeadline): void {
    this.#byInteraction.set(deadline.interactionId, deadline)
    this.#heap.push(deadline)
    this.#rise(this.#heap.length - 1)
    this.#compact()
    this.#arm()
  }

  delete(interactionId: string): void {
    if (!this.#byInteraction.delete(interactionId)) return
    this.#compact()
    this.#arm()
  }

  clear(): void {
    this.#byInteraction.clear()
    this.#compact()
    this.#arm()
  }

  /** The alarm of a deleted deadline is not moved: setting a new alarm per answer costs more than one early alarm. */
  #arm(): void {
    const next = this.#heap[0]
    if (this.#alarm && (!next || next.at < this.#alarm.at)) {
      this.#alarm.disarm()
      this.#alarm = null
    }
    if (!next || this.#alarm) return
    const alarm = { at: next.at, disarm: () => {} }
    this.#alarm = alarm
    // A clock may call back at once for a time in the past.
    alarm.disarm = this.#clock.alarm(next.at, () => this.#settleDue())
  }

  #settleDue(): void {
    this.#alarm = null
    const now = this.#clock.now()
    const due: InteractionDeadline[] = []
    for (let next = this.#heap[0]; next && (next.at <= now || this.#isDeleted(next)); next = this.#heap[0]) {
      this.#takeFirst()
      if (this.#isDeleted(next)) continue
      due.push(next)
      this.#byInteraction.delete(next.interactionId)
    }
    this.#arm()
    for (const deadline of due) this.#onDue(deadline)
  }

  #isDeleted(deadline: InteractionDeadline): boolean {
    return this.#byInteraction.get(deadline.interactionId) !== deadline
  }

  #compact(): void {
    if (this.#byInteraction.size === 0) this.#heap = []
    else if (this.#heap.length > 2 * this.#byInteraction.size + 10) {
      // A sorted array is a valid heap.
      this.#heap = [...this.#byInteraction.values()].sort((one, other) => one.at - other.at)
    }
  }

  #takeFirst(): void {
    const last = this.#heap.pop()!
    if (this.#heap.length === 0) return
    this.#heap[0] = last
    this.#sink(0)
  }

  #rise(index: number): void {
    const item = this.#heap[index]!
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (this.#heap[parent]!.at <= item.at) break
      this.#heap[index] = this.#heap[parent]!
      index = parent
    }
    this.#heap[index] = item
  }

  #sink(index: number): void {
    const item = this.#heap[index]!
    for (;;) {
      let child = index * 2 + 1
      if (child >= this.#heap.length) break
      if (child + 1 < this.#heap.length && this.#heap[child + 1]!.at < this.#heap[child]!.at) child++
      if (this.#heap[child]!.at >= item.at) break
      this.#heap[index] = this.#heap[child]!
      index = child
    }
    this.#heap[index] = item
  }
}
