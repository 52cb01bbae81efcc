import { Alarms, DRIFT, localTime, type Clock, type LocalTime } from '../clock.js'

/** The time of a store that several processes share. All of them go by it, whatever their own clocks say. */
export interface SharedClock extends Clock {
  /** By how much the wall clock of this machine is ahead of the store's time, in milliseconds; negative if it is behind. */
  readonly skewMs: number
  /** How far `now()` may be from the store's time, in milliseconds. */
  readonly errorMs: number
  /** Called after each measurement. */
  onMeasured(listener: () => void): () => void
}

export interface StoreClockOptions {
  /** The store's own time, in milliseconds since 1970. */
  readTime: () => Promise<number>
  /** @default `Date.now()` and `performance.now()` */
  local?: LocalTime
  /**
   * How often it measures, in milliseconds.
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
  /** Monotonic. */
  at: number
}

const MEASURE_MS = 2000
/** If wall clock and monotonic clock move apart by more, one was set or the machine was asleep. */
const JUMP_MS = 1000
/** `now()` stands still rather than go back by up to this much. */
const MAX_HOLD_MS = 1000
/** A first measurement with a larger error is repeated. */
const GOOD_ERROR_MS = 100
const MAX_FIRST_MEASUREMENTS = 3

/**
 * The store's time, from the monotonic clock of this process and a measured offset. The store reads its clock between the
 * sending of a measurement and its reply, so the offset is wrong by at most half the round trip. Of two measurements that
 * fit together the one with the smaller error counts, and an error grows with age. A measurement that does not fit shows that
 * a clock has jumped, and counts at once.
 *
 * A jump of the wall clock changes nothing here and causes a measurement, since the machine may have been asleep. A failed
 * measurement leaves the offset as it is. `now()` does not run backwards, unless the store's own clock is set back by more than
 * a second.
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
    // Until the first measurement the machine's own clock is all there is.
    this.#known = { offset: this.#wallOffset, errorMs: Infinity, at: local.monotonic() }
  }

  /** Resolves when the time is known; from then on it is measured again and again. */
  async start(): Promise<void> {
    for (let count = 0; count < MAX_FIRST_MEASUREMENTS && this.errorMs > GOOD_ERROR_MS; count++)
      await this.measure()
    this.#measureLater()
  }

  now(): number {
    const monotonic = this.#local.monotonic()
    if (this.#noticeJump(monotonic) && !this.#closed) this.measure().catch(ignore)
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

  /** One at a time: whoever asks meanwhile gets the one under way. */
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
      this.#noticeJump(sent)
      const time = await this.#readTime()
      const received = this.#local.monotonic()
      // Asleep in between: the monotonic clock did not count that, so the round trip does not bound the error.
      if (this.#noticeJump(received)) continue
      this.#wallOffset = this.#local.wall() - received
      this.#learn({ offset: time - (sent + received) / 2, errorMs: (received - sent) / 2, at: received })
      return
    }
  }

  #learn(measured: Measurement): void {
    const error = this.#errorAt(measured.at)
    const fits = Math.abs(measured.offset - this.#known.offset) <= error + measured.errorMs
    if (!fits || measured.errorMs <= error) this.#known = measured
    this.#alarms.look()
    for (const listener of this.#listeners) listener()
  }

  #errorAt(monotonic: number): number {
    return this.#known.errorMs + (monotonic - this.#known.at) * DRIFT
  }

  /** Whether wall clock and monotonic clock have moved apart: one was set, or the monotonic one stood still for so long. */
  #noticeJump(monotonic: number): boolean {
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
      // The next one may succeed; who needs the store now is told by the store itself.
      this.measure()
        .catch(ignore)
        .finally(() => this.#measureLater())
    }, this.#measureMs)
    keepNoProcessAlive(this.#timer)
  }
}

/** Where timers can be told so: a browser has none that keep it alive. */
function keepNoProcessAlive(timer: { unref?: () => void } | number): void {
  if (typeof timer === 'object') timer.unref?.()
}

function ignore(): void {}
