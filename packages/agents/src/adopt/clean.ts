import { MAX_OUTPUT_BYTES } from '@askback/core'
import { MAX_JSON_DEPTH, type Json } from '@askback/protocol'

/** Of one text in a history: what is longer is no reading matter any more. */
const MOST_TEXT = 256 * 1024
/** Below what surrounds a value on its way. */
const MOST_DEPTH = MAX_JSON_DEPTH - 10

/** A text as it is, if it is one, and without halves of characters, which a program that cuts its output leaves. */
export function words(value: unknown): string {
  if (typeof value !== 'string') return ''
  const text = value.toWellFormed()
  return text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT).toWellFormed()}…` : text
}

/** What others have written as it may stand in a log, which takes no half characters and no numbers that lose digits. */
export function clean(value: unknown, depth = MOST_DEPTH): Json {
  switch (typeof value) {
    case 'string':
      return words(value)
    case 'number':
      return Number.isSafeInteger(value) || !Number.isInteger(value) ? finite(value) : String(value)
    case 'boolean':
      return value
    case 'object':
      break
    default:
      return null
  }
  if (value === null) return null
  if (depth <= 0) return '…'
  if (Array.isArray(value)) return value.map((item: unknown) => clean(item, depth - 1))
  const copy: { [key: string]: Json } = {}
  for (const [key, item] of Object.entries(value)) {
    if (key !== '__proto__' && key !== 'constructor') copy[key.toWellFormed()] = clean(item, depth - 1)
  }
  return copy
}

/** The output of a tool as it is stored: only its first part, with the bytes that there were. */
export function outputOf(text: string): { output: string; truncated?: number } {
  const bytes = Buffer.from(text.toWellFormed())
  if (bytes.length <= MAX_OUTPUT_BYTES) return { output: text.toWellFormed() }
  let end = MAX_OUTPUT_BYTES
  while ((bytes[end]! & 0xc0) === 0x80) end -= 1
  return { output: bytes.toString('utf8', 0, end), truncated: bytes.length }
}

/** The texts among the parts of a message; in place of a picture, that there is one. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content
    .flatMap((part: unknown) => {
      if (typeof part !== 'object' || part === null) return []
      if ('text' in part) return [String(part.text)]
      return 'type' in part && String(part.type).includes('image') ? ['[image]'] : []
    })
    .join('\n')
}

function finite(value: number): Json {
  return Number.isFinite(value) ? value : String(value)
}
