import type { Clock } from '../clock.js'

interface Deadline {
  sessionId: string
  interactionId: string
  at: number
}

/**
 * All timeouts in one heap, with one alarm for the earliest. Most are answered long before: what is deleted stays in the
 * heap until it comes up, or until most of the heap is such.
 */
export class Deadlines {
  readonly #clock: Clock
  readonly #due: (deadline: Deadline) => void
  readonly #byInteraction = new Map<string, Deadline>()
  #heap: Deadline[] = []
  #alarm: { at: number; disarm: () => void } | null = null

  constructor(clock: Clock, due: (deadline: Deadline) => void) {
    this.#clock = clock
    this.#due = due
  }

  has(interactionId: string): boolean {
    return this.#byInteraction.has(interactionId)
  }

  set(deadline: Deadline): void {
    this.#byInteraction.set(deadline.interactionId, deadline)
    this.#heap.push(deadline)
    this.#rise(this.#heap.length - 1)
    this.#tidy()
    this.#arm()
  }

  delete(interactionId: string): void {
    if (!this.#byInteraction.delete(interactionId)) return
    this.#tidy()
    this.#arm()
  }

  clear(): void {
    this.#byInteraction.clear()
    this.#tidy()
    this.#arm()
  }

  /** An alarm for a deadline that is gone is left to ring: re-arming at each answer would cost more than one wake-up. */
  #arm(): void {
    const next = this.#heap[0]
    if (this.#alarm && (!next || next.at < this.#alarm.at)) {
      this.#alarm.disarm()
      this.#alarm = null
    }
    if (!next || this.#alarm) return
    const alarm = { at: next.at, disarm: () => {} }
    this.#alarm = alarm
    // A clock may ring at once for what is past.
    alarm.disarm = this.#clock.alarm(next.at, () => this.#ring())
  }

  #ring(): void {
    this.#alarm = null
    const now = this.#clock.now()
    const due: Deadline[] = []
    for (let next = this.#heap[0]; next && (next.at <= now || this.#isGone(next)); next = this.#heap[0]) {
      this.#takeFirst()
      if (this.#isGone(next)) continue
      due.push(next)
      this.#byInteraction.delete(next.interactionId)
    }
    this.#arm()
    for (const deadline of due) this.#due(deadline)
  }

  #isGone(deadline: Deadline): boolean {
    return this.#byInteraction.get(deadline.interactionId) !== deadline
  }

  #tidy(): void {
    if (this.#byInteraction.size === 0) this.#heap = []
    else if (this.#heap.length > 2 * this.#byInteraction.size + 10) {
      // In order is a heap, too.
      this.#heap = [...this.#byInteraction.values()].sort((one, other) => one.at - other.at)
    }
  }

  #takeFirst(): void {
    const last = this.#heap.pop()!
    if (this.#heap.length === 0) return
    this.#heap[0] = last
    this.#sink(0)
  }

  #rise(place: number): void {
    const item = this.#heap[place]!
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (this.#heap[parent]!.at <= item.at) break
      this.#heap[place] = this.#heap[parent]!
      place = parent
    }
    this.#heap[place] = item
  }

  #sink(place: number): void {
    const item = this.#heap[place]!
    for (;;) {
      let child = place * 2 + 1
      if (child >= this.#heap.length) break
      if (child + 1 < this.#heap.length && this.#heap[child + 1]!.at < this.#heap[child]!.at) child++
      if (this.#heap[child]!.at >= item.at) break
      this.#heap[place] = this.#heap[child]!
      place = child
    }
    this.#heap[place] = item
  }
}
