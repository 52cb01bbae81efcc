import type { Clock } from './clock.js'

interface Deadline {
  id: string
  at: number
  due: () => void
}

/** All timeouts in one heap, with one alarm for the earliest. */
export class Deadlines {
  readonly #clock: Clock
  readonly #heap: Deadline[] = []
  readonly #places = new Map<string, number>()
  #alarm: { at: number; disarm: () => void } | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  set(id: string, at: number, due: () => void): void {
    this.delete(id)
    this.#heap.push({ id, at, due })
    this.#rise(this.#heap.length - 1)
    this.#arm()
  }

  delete(id: string): void {
    const place = this.#places.get(id)
    if (place === undefined) return
    this.#places.delete(id)
    const last = this.#heap.pop()!
    if (place < this.#heap.length) {
      this.#put(place, last)
      this.#rise(place)
      this.#sink(this.#places.get(last.id)!)
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
      this.delete(next.id)
    }
    this.#arm()
    for (const deadline of due) deadline.due()
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
    this.#places.set(item.id, place)
  }
}
