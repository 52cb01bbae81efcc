import { Alarms, DRIFT, localTime, type Clock, type LocalTime } from '../clock.js'

/** The time of a store that several processes share. All of them use it, whatever their own clocks show. */
export interface SharedClock extends Clock {
  /** By how much the wall clock of this machine is ahead of the store's time, in milliseconds; negative if it is behind. */
  readonly skewMs: number
  /** How far `now()` may be from the store's time, in milliseconds. */
  readonly errorMs: number
  /** Called after each measurement. */
  onMeasured(listener: () => void): () => void
}

/** The options of a clock that follows a database. */
export interface StoreClockOptions {
  /** Reads the store's own time, in milliseconds since 1970. */
  readTime: () => Promise<number>
  /**
   * The clocks of this machine.
   *
   * @default `Date.now()` and `performance.now()`
   */
  local?: LocalTime
  /**
   * Pause between two measurements, in milliseconds.
   *
   * @default 2000
   */
  measureMs?: number
}

interface Measurement {
  /** The store's time minus the monotonic time. */
  offset: number
  /** How far the offset may be wrong: half the round trip. */
  errorMs: number
  /** When it was measured, in monotonic time. */
  at: number
}

const MEASURE_MS = 2000
/** If wall clock and monotonic clock move apart by more, one was set or the machine was asleep. */
const JUMP_MS = 1000
/** Instead of running back by up to this much, `now()` repeats its last value. */
const MAX_HOLD_MS = 1000
/** A first measurement with a larger error is repeated. */
const GOOD_ERROR_MS = 100
const MAX_FIRST_MEASUREMENTS = 3

/**
 * Computes the store's time from the monotonic clock of this process and a measured offset. The store reads its clock between
 * the request of a measurement and the reply, so the offset is wrong by at most half the round trip. The error of a measurement
 * grows with its age. Of two measurements that agree within their errors, the one with the smaller error is used. A measurement
 * that does not agree shows that a clock has jumped, and is used at once.
 *
 * If the wall clock jumps, the time stays the same but is measured again, because the machine may have been asleep. If a
 * measurement fails, the offset stays the same. `now()` does not run backwards, unless the store's own clock is set back by more
 * than a second.
 */
export class StoreClock implements SharedClock {
  readonly #readTime: () => Promise<number>
  readonly #local: LocalTime
  readonly #measureMs: number
  readonly #alarms = new Alarms(() => this.now())
  readonly #listeners = new Set<() => void>()
  #known: Measurement
  /** Wall clock minus monotonic clock, when they were last compared. */
  #wallOffset: number
  #last = -Infinity
  #measuring: Promise<void> | null = null
  #timer: ReturnType<typeof setTimeout> | undefined
  #closed = false

  constructor({ readTime, local = localTime, measureMs = MEASURE_MS }: StoreClockOptions) {
    this.#readTime = readTime
    this.#local = local
    this.#measureMs = measureMs
    this.#wallOffset = local.wall() - local.monotonic()
    // Until the first measurement, only the machine's own clock is known.
    this.#known = { offset: this.#wallOffset, errorMs: Infinity, at: local.monotonic() }
  }

  /** Resolves when the time is known; from then on it is measured at intervals. */
  async start(): Promise<void> {
    for (let count = 0; count < MAX_FIRST_MEASUREMENTS && this.errorMs > GOOD_ERROR_MS; count++)
      await this.measure()
    this.#measureLater()
  }

  now(): number {
    const monotonic = this.#local.monotonic()
    if (this.#detectJump(monotonic) && !this.#closed) this.measure().catch(ignore)
    const time = Math.floor(monotonic + this.#known.offset)
    if (time < this.#last && this.#last - time <= MAX_HOLD_MS) return this.#last
    this.#last = time
    return time
  }

  alarm(at: number, wake: () => void): () => void {
    return this.#alarms.arm(at, wake)
  }

  get skewMs(): number {
    return this.#local.wall() - this.#local.monotonic() - this.#known.offset
  }

  get errorMs(): number {
    return this.#errorAt(this.#local.monotonic())
  }

  onMeasured(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Callers during a measurement share it. */
  measure(): Promise<void> {
    this.#measuring ??= this.#measure().finally(() => (this.#measuring = null))
    return this.#measuring
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  async #measure(): Promise<void> {
    for (;;) {
      const sent = this.#local.monotonic()
      this.#detectJump(sent)
      const time = await this.#readTime()
      const received = this.#local.monotonic()
      // The machine slept in between, which the monotonic clock does not count, so the round trip does not bound the error.
      if (this.#detectJump(received)) continue
      this.#wallOffset = this.#local.wall() - received
      this.#use({ offset: time - (sent + received) / 2, errorMs: (received - sent) / 2, at: received })
      return
    }
  }

  #use(measured: Measurement): void {
    const error = this.#errorAt(measured.at)
    const agrees = Math.abs(measured.offset - this.#known.offset) <= error + measured.errorMs
    if (!agrees || measured.errorMs <= error) this.#known = measured
    this.#alarms.look()
    for (const listener of this.#listeners) listener()
  }

  #errorAt(monotonic: number): number {
    return this.#known.errorMs + (monotonic - this.#known.at) * DRIFT
  }

  /** Whether wall clock and monotonic clock have moved apart: one was set, or the machine slept. */
  #detectJump(monotonic: number): boolean {
    const wallOffset = this.#local.wall() - monotonic
    const jump = Math.abs(wallOffset - this.#wallOffset)
    if (jump <= JUMP_MS) return false
    this.#wallOffset = wallOffset
    this.#known = { ...this.#known, errorMs: this.#known.errorMs + jump }
    return true
  }

  #measureLater(): void {
    if (this.#closed) return
    this.#timer = setTimeout(() => {
      // The next measurement may succeed. A caller that needs the store gets its error from the store itself.
      this.measure()
        .catch(ignore)
        .finally(() => this.#measureLater())
    }, this.#measureMs)
    letProcessEnd(this.#timer)
  }
}

/** In Node a timer would keep the process running. In a browser it is a number without `unref`. */
function letProcessEnd(timer: { unref?: () => void } | number): void {
  if (typeof timer === 'object') timer.unref?.()
}

function ignore(): void {}
