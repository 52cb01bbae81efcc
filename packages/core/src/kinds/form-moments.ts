import type { FormFieldType } from '@askback/protocol'

export type MomentType = Extract<FormFieldType, 'date' | 'time' | 'datetime'>

export function isMoment(type: FormFieldType): type is MomentType {
  return type === 'date' || type === 'time' || type === 'datetime'
}

/**
 * A date `2026-02-28`, a time of day `09:30[:15[.250]]`, or both joined by `T`, as HTML's controls send them. A datetime
 * may end in `Z` or an offset (RFC 3339). Returns a number to compare by, for which a datetime without offset counts as
 * UTC; `null` for what is none, 30 February included.
 */
export function readMoment(type: MomentType, text: string): number | null {
  switch (type) {
    case 'date':
      return readDate(text)
    case 'time':
      return readTime(text)
    case 'datetime': {
      const [, day = '', time = '', offset = ''] =
        /^(\d{4}-\d{2}-\d{2})T([\d:.]+)(Z|[+-]\d{2}:\d{2})?$/.exec(text) ?? []
      const parts = [readDate(day), readTime(time), readOffset(offset)] as const
      return parts[0] === null || parts[1] === null || parts[2] === null
        ? null
        : parts[0] + parts[1] - parts[2]
    }
    default:
      return type satisfies never
  }
}

function readDate(text: string): number | null {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? []
  if (day === undefined) return null
  const at = Date.parse(`${year}-${month}-${day}T00:00:00Z`)
  // Some days that do not exist parse as days of the next month.
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text) && year !== '0000' ? at : null
}

function readTime(text: string): number | null {
  const [, hours, minutes, seconds = '0', fraction = '0'] =
    /^(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?$/.exec(text) ?? []
  if (Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59 || hours === undefined) return null
  return (
    ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000 + Number(`0.${fraction}`) * 1000
  )
}

function readOffset(text: string): number | null {
  if (text === '' || text === 'Z') return 0
  const time = readTime(text.slice(1))
  return time === null ? null : text.startsWith('-') ? -time : time
}
