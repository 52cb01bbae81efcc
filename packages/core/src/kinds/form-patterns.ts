import { RE2JS } from 're2js'

/** Patterns come from agents, so they run in RE2's linear time; these bound what is left of it. */
const MAX_PATTERN = 1000
const MAX_PROGRAM = 2000
const MAX_MATCHED = 5_000

/** As in HTML the whole text must match. Written as in JavaScript, without look-around and back-references. */
export function matchesPattern(pattern: string, text: string): 'matches' | 'differs' | 'too_long' {
  if (text.length > MAX_MATCHED) return 'too_long'
  return compile(pattern).matches(text) ? 'matches' : 'differs'
}

/** What a pattern costs, or why it cannot be used. */
export function measurePattern(pattern: string): { size: number } | { problem: string } {
  if (pattern.length > MAX_PATTERN) return { problem: `is longer than ${MAX_PATTERN} characters` }
  try {
    const size = compile(pattern).programSize()
    return size > MAX_PROGRAM ? { problem: 'repeats too much' } : { size }
  } catch (error) {
    const why =
      error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : 'it does not compile'
    return { problem: `cannot run in linear time: ${why}` }
  }
}

function compile(pattern: string): RE2JS {
  return RE2JS.compile(RE2JS.translateRegExp(pattern))
}
