import { usageError } from './usage.js'

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `10m`, `90s`, `2h` in milliseconds; `never` is `null`. `name` is where the text came from, for the error. */
export function parseTimeout(text: string, name = '--timeout'): number | null {
  if (text === 'never') return null
  const [, count = '', unit = ''] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(text) ?? []
  const ms = Math.round(Number(count) * (isUnit(unit) ? UNITS[unit] : 0))
  if (ms > 0) return ms
  throw usageError(`${name} is a time like 30s, 10m or 2h, or never; not ${JSON.stringify(text)}.`)
}

/** In its largest unit, rounded down: `45s`, `9m`, `2h`, `3d`. */
export function shortDuration(ms: number): string {
  const unit = (['d', 'h', 'm'] as const).find((each) => ms >= UNITS[each]) ?? 's'
  return `${Math.floor(Math.max(ms, 0) / UNITS[unit])}${unit}`
}

function isUnit(text: string): text is keyof typeof UNITS {
  return Object.hasOwn(UNITS, text)
}
