/**
 * Makes values from other programs' files fit for the log. The log refuses half surrogate pairs, integers that lose digits, deep
 * nesting and some keys; a transcript may contain all of them.
 */
import { MAX_OUTPUT_BYTES } from '@askback/core/internal'
import { MAX_JSON_DEPTH, type Json } from '@askback/protocol'

/** Longer texts are of no use to a reader. */
const MAX_TEXT_LENGTH = 256 * 1024
/** Leaves room for the event that contains the value. */
const MAX_DEPTH = MAX_JSON_DEPTH - 10

/** An empty text if the value is none. Programs that cut their output leave half surrogate pairs, which are replaced. */
export function cleanText(value: unknown): string {
  if (typeof value !== 'string') return ''
  const text = value.toWellFormed()
  return text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH).toWellFormed()}…` : text
}

export function cleanJson(value: unknown, depth = MAX_DEPTH): Json {
  switch (typeof value) {
    case 'string':
      return cleanText(value)
    case 'number':
      return isExact(value) ? value : String(value)
    case 'boolean':
      return value
    case 'object':
      break
    default:
      return null
  }
  if (value === null) return null
  if (depth <= 0) return '…'
  if (Array.isArray(value)) return value.map((item: unknown) => cleanJson(item, depth - 1))
  const copy: { [key: string]: Json } = {}
  for (const [key, item] of Object.entries(value)) {
    if (key !== '__proto__' && key !== 'constructor') copy[key.toWellFormed()] = cleanJson(item, depth - 1)
  }
  return copy
}

/** The output of a tool, cut to the length that the log stores. `truncated`: how many bytes there were. */
export function cappedOutput(text: string): { output: string; truncated?: number } {
  const bytes = Buffer.from(text.toWellFormed())
  if (bytes.length <= MAX_OUTPUT_BYTES) return { output: text.toWellFormed() }
  let end = MAX_OUTPUT_BYTES
  // Does not cut inside a character: its later bytes begin with the bits 10.
  while ((bytes[end]! & 0xc0) === 0x80) end -= 1
  return { output: bytes.toString('utf8', 0, end), truncated: bytes.length }
}

/** Joins the texts among the parts of a message. An image becomes `[image]`. */
export function joinTexts(content: unknown): string {
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

function isExact(value: number): boolean {
  return Number.isFinite(value) && (Number.isSafeInteger(value) || !Number.isInteger(value))
}
