import type { Clock } from '@askback/protocol'

export type { Clock }

/** Timers stop while a machine sleeps, and its clock can be set: long alarms are compared with the clock at this interval. */
const LOOK_MS = 1000
/** The longest delay that `setTimeout` takes. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1

interface Alarm {
  at: number
  ring: () => void
}

/** Alarms of a clock that can jump. */
export class Alarms {
  readonly #now: () => number
  /** Alarms later than the next comparison. One timer checks all of them. */
  readonly #distant = new Set<Alarm>()
  #looking: ReturnType<typeof setTimeout> | null = null

  constructor(now: () => number) {
    this.#now = now
  }

  arm(at: number, wake: () => void): () => void {
    const left = at - this.#now()
    if (left <= LOOK_MS) {
      const timer = setTimeout(wake, Math.max(left, 0))
      return () => clearTimeout(timer)
    }
    let timer: ReturnType<typeof setTimeout>
    const disarm = () => {
      clearTimeout(timer)
      this.#remove(alarm)
    }
    const alarm: Alarm = {
      at,
      ring: () => {
        disarm()
        wake()
      },
    }
    const wait = (ms: number) => {
      timer =
        ms > MAX_TIMEOUT_MS
          ? setTimeout(() => wait(at - this.#now()), MAX_TIMEOUT_MS)
          : setTimeout(alarm.ring, ms)
    }
    wait(left)
    if (this.#distant.size === 0) setNeeded(this.#looking, true)
    this.#distant.add(alarm)
    this.#looking ??= this.#lookLater()
    return disarm
  }

  /** Calls the alarms that are due, for example after a jump of the clock. */
  look(): void {
    const now = this.#now()
    for (const alarm of this.#distant) if (alarm.at <= now) alarm.ring()
  }

  #remove(alarm: Alarm): void {
    if (!this.#distant.delete(alarm) || this.#distant.size > 0 || this.#looking === null) return
    // The next alarm often comes at once, so the timer stays until it fires: a new one for each question costs more than this.
    if (setNeeded(this.#looking, false)) return
    clearTimeout(this.#looking)
    this.#looking = null
  }

  #lookLater(): ReturnType<typeof setTimeout> {
    return setTimeout(() => {
      this.#looking = this.#distant.size > 0 ? this.#lookLater() : null
      this.look()
    }, LOOK_MS)
  }
}

/** A timer of Node.js. Those of a browser are numbers. */
interface ProcessTimer {
  ref(): unknown
  unref(): unknown
}

/** Sets whether a timer keeps the process from ending. Returns false if this host has no such timers. */
function setNeeded(timer: unknown, isNeeded: boolean): boolean {
  if (!isProcessTimer(timer)) return false
  if (isNeeded) timer.ref()
  else timer.unref()
  return true
}

function isProcessTimer(timer: unknown): timer is ProcessTimer {
  return typeof timer === 'object' && timer !== null && 'ref' in timer && 'unref' in timer
}

/**
 * A clock on a source of time that may jump. An alarm rings when the clock reaches its time, or when as much time has passed
 * as was left when the alarm was set, whichever comes first, so that a clock that is set back delays no timer.
 */
export function clockOf(now: () => number): Clock {
  const alarms = new Alarms(now)
  return { now, alarm: (at, wake) => alarms.arm(at, wake) }
}

/** The clock of this machine, as it is set. Unlike `systemClock` of protocol, its alarms notice that the clock was set. */
export const jumpAwareClock: Clock = clockOf(() => Date.now())

/** What a machine knows of time by itself, in milliseconds. */
export interface LocalTime {
  /** Since 1970. It can be set at any time. */
  wall(): number
  /** Since some moment. It cannot be set, and may stand still while the machine sleeps. */
  monotonic(): number
}

export const localTime: LocalTime = {
  wall: () => Date.now(),
  monotonic: () => performance.now(),
}

/** By how much two clocks may drift apart, as a part of the time: what NTP corrects at most without a jump. */
export const DRIFT = 0.0005
/** A clock that is set back by more than this was or is wrong by far. */
export const MAX_BACK_MS = 24 * 3_600_000

/**
 * The clock of this machine, which never runs backwards while the process lives. If the wall clock is set forwards, or the
 * machine was asleep, it follows at once. If the wall clock is set back, time continues at its usual pace, so that a deadline
 * stays as far away as it was, and comes closer to the wall clock by half a millisecond a second. Only if that goes back by
 * more than a day it follows.
 */
export function steadyClock(local: LocalTime = localTime): Clock {
  /** Time minus monotonic time. */
  let offset = -Infinity
  let last = local.monotonic()
  return clockOf(() => {
    const monotonic = local.monotonic()
    const wallOffset = local.wall() - monotonic
    const slowest = offset - Math.max(monotonic - last, 0) * DRIFT
    last = monotonic
    offset = offset - wallOffset > MAX_BACK_MS ? wallOffset : Math.max(wallOffset, slowest)
    return Math.floor(monotonic + offset)
  })
}
