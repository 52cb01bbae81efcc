import { AskbackError } from './errors.js'

const UNITS_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const

/** The units of a duration: milliseconds, seconds, minutes, hours, days and weeks. */
export type DurationUnit = keyof typeof UNITS_MS

/** How long something may take: milliseconds, a number with its unit such as `'90s'` or `'2d'`, or `'never'` for no limit. */
export type Duration = number | `${number}${DurationUnit}` | 'never'

/** Ten years: the longest time that a request may wait, apart from `'never'`. */
const MAX_MS = 10 * 365 * UNITS_MS.d

/**
 * A duration in whole milliseconds; `null` for `'never'`. Throws `invalid_request` for anything else, also for 0.
 *
 * @param name - the option that has the duration, for the error
 *
 * @example
 * durationMs('10m') // 600000
 * durationMs('never') // null
 */
export function durationMs(duration: Duration, name = 'The duration'): number | null {
  if (duration === 'never') return null
  const ms = typeof duration === 'number' ? duration : textMs(duration)
  if (ms >= 1 && ms <= MAX_MS) return Math.round(ms)
  throw new AskbackError(
    'invalid_request',
    `${name} is a number of milliseconds, a text such as "30s", "10m" or "2d", or "never", and at most ten years; not ${JSON.stringify(duration) ?? String(duration)}.`,
  )
}

/** NaN if it is no duration. Callers in JavaScript pass anything. */
function textMs(text: unknown): number {
  const [, count = '', unit = ''] = /^(\d{1,12}(?:\.\d{1,6})?)(ms|s|m|h|d|w)$/.exec(String(text)) ?? []
  return isUnit(unit) ? Number(count) * UNITS_MS[unit] : Number.NaN
}

function isUnit(text: string): text is DurationUnit {
  return Object.hasOwn(UNITS_MS, text)
}
