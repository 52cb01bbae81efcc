import type { Clock } from './clock.js'

interface Deadline {
  sessionId: string
  interactionId: string
  at: number
}

/** All timeouts in one heap, with one alarm for the earliest. */
export class Deadlines {
  readonly #clock: Clock
  readonly #due: (deadline: Deadline) => void
  readonly #heap: Deadline[] = []
  readonly #places = new Map<string, number>()
  #alarm: { at: number; disarm: () => void } | null = null

  constructor(clock: Clock, due: (deadline: Deadline) => void) {
    this.#clock = clock
    this.#due = due
  }

  set(deadline: Deadline): void {
    this.delete(deadline.interactionId)
    this.#heap.push(deadline)
    this.#rise(this.#heap.length - 1)
    this.#arm()
  }

  delete(interactionId: string): void {
    const place = this.#places.get(interactionId)
    if (place === undefined) return
    this.#places.delete(interactionId)
    const last = this.#heap.pop()!
    if (place < this.#heap.length) {
      this.#put(place, last)
      this.#rise(place)
      this.#sink(this.#places.get(last.interactionId)!)
    }
    this.#arm()
  }

  clear(): void {
    this.#heap.length = 0
    this.#places.clear()
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
    this.#alarm = { at: next.at, disarm: this.#clock.alarm(next.at, () => this.#ring()) }
  }

  #ring(): void {
    this.#alarm = null
    const now = this.#clock.now()
    const due: Deadline[] = []
    for (let next = this.#heap[0]; next && next.at <= now; next = this.#heap[0]) {
      due.push(next)
      this.delete(next.interactionId)
    }
    this.#arm()
    for (const deadline of due) this.#due(deadline)
  }

  #rise(place: number): void {
    const item = this.#heap[place]!
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (this.#heap[parent]!.at <= item.at) break
      this.#put(place, this.#heap[parent]!)
      place = parent
    }
    this.#put(place, item)
  }

  #sink(place: number): void {
    const item = this.#heap[place]!
    for (;;) {
      let child = place * 2 + 1
      if (child >= this.#heap.length) break
      if (child + 1 < this.#heap.length && this.#heap[child + 1]!.at < this.#heap[child]!.at) child++
      if (this.#heap[child]!.at >= item.at) break
      this.#put(place, this.#heap[child]!)
      place = child
    }
    this.#put(place, item)
  }

  #put(place: number, item: Deadline): void {
    this.#heap[place] = item
    this.#places.set(item.interactionId, place)
  }
}
