import { AskbackError, errorMessage } from '@askback/protocol/errors'
import type { Json } from '@askback/protocol'
import { readFileSync } from 'node:fs'

const UNITS_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

export function usageError(message: string): AskbackError {
  return new AskbackError('invalid_request', `${message} See askback --help.`)
}

/** Turns an error of `parseArgs` into one sentence; `null` for any other error. */
export function usageErrorFrom(error: unknown): AskbackError | null {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return null
  if (!error.code.startsWith('ERR_PARSE_ARGS')) return null
  const [sentence] = error.message.split(/(?<=\.)\s|\. /, 1)
  return usageError(`${sentence?.replace(/\.$/, '')}.`)
}

/** `10m`, `90s` or `2h` in milliseconds; `null` for `never`. `name` says in the error where the text came from. */
export function parseTimeout(text: string, name = '--timeout'): number | null {
  if (text === 'never') return null
  const [, count = '', unit = ''] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(text) ?? []
  const ms = Math.round(Number(count) * (isUnit(unit) ? UNITS_MS[unit] : 0))
  if (ms > 0) return ms
  throw usageError(`${name} is a time like 30s, 10m or 2h, or never; not ${JSON.stringify(text)}.`)
}

/** A duration in its largest unit, rounded down: `45s`, `9m`, `2h` or `3d`. */
export function shortDuration(ms: number): string {
  const unit = (['d', 'h', 'm'] as const).find((each) => ms >= UNITS_MS[each]) ?? 's'
  return `${Math.floor(Math.max(ms, 0) / UNITS_MS[unit])}${unit}`
}

/** Reads JSON from a file, or from stdin for `-`. `what` names it in errors. */
export function readJsonFile(path: string, what: string): Json {
  const source = path === '-' ? 'stdin' : path
  let text: string
  try {
    text = readFileSync(path === '-' ? 0 : path, 'utf8')
  } catch {
    throw usageError(`${what} cannot be read from ${source}.`)
  }
  if (text.trim() === '') throw usageError(`${what} is missing: ${source} is empty.`)
  return parseJson(text, `${what} in ${source}`)
}

/** Reads an argument that is JSON, or `@FILE`, or `@-` for stdin. */
export function jsonArgument(text: string, what: string): Json {
  return text.startsWith('@') ? readJsonFile(text.slice(1), what) : parseJson(text, what)
}

function parseJson(text: string, what: string): Json {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `JSON.parse` returns nothing else
    return JSON.parse(text) as Json
  } catch (error) {
    throw usageError(`${what} is no JSON: ${errorMessage(error)}.`)
  }
}

function isUnit(text: string): text is keyof typeof UNITS_MS {
  return Object.hasOwn(UNITS_MS, text)
}
