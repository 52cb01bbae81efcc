import type { Json } from '@askback/protocol'
import { readFileSync } from 'node:fs'
import { usageError } from '../usage.js'

/** JSON from a file, or from stdin for `-`. */
export function readJson(path: string, what: string): Json {
  const from = path === '-' ? 'stdin' : path
  let text: string
  try {
    text = readFileSync(path === '-' ? 0 : path, 'utf8')
  } catch {
    throw usageError(`${what} cannot be read from ${from}.`)
  }
  if (text.trim() === '') throw usageError(`${what} is missing: ${from} is empty.`)
  return parseJson(text, `${what} in ${from}`)
}

/** `@file`, `@-` for stdin, or the JSON itself. */
export function jsonArgument(text: string, what: string): Json {
  return text.startsWith('@') ? readJson(text.slice(1), what) : parseJson(text, what)
}

function parseJson(text: string, what: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch (error) {
    throw usageError(`${what} is no JSON: ${error instanceof Error ? error.message : String(error)}.`)
  }
}
