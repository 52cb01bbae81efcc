import type { Json } from '@askback/protocol'

/** A value in full. A text of one line that would read as something else, or as nothing, says that it is one. */
export function jsonText(value: Json): string {
  if (typeof value !== 'string') return JSON.stringify(value, null, 2)
  const text = value.trim()
  const isPlain = text.includes('\n') || (text !== '' && text === value && !isJson(text))
  return isPlain ? value : JSON.stringify(value)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
