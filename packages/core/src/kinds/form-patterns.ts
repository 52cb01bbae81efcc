import { RE2JS } from 're2js'

/*
 * Patterns come from agents, so they must not be able to block the process. RE2 compiles a pattern to a program and runs it in
 * linear time: at worst one step for each instruction and each character of the text. The limits keep all patterns of a form
 * together below 50 ms on a slow machine. They count steps and not time, so that every machine accepts the same forms.
 */

const MAX_PATTERN_CHARACTERS = 1000
/** Instructions times characters, for all patterns of one answer: about 30 ms. */
const MAX_STEPS = 90_000
/** A program can require a text as long as itself; one of this size can still be run on it within `MAX_STEPS`. */
const MAX_PROGRAM_SIZE = Math.floor(Math.sqrt(MAX_STEPS))
/** A pattern whose estimated size is larger is not compiled, because compiling a huge one already takes long. */
const MAX_ESTIMATED_SIZE = 2 * MAX_PROGRAM_SIZE
const MAX_TEXT_CHARACTERS = 5_000

/** The steps that the patterns of one answer may still use. */
export class PatternBudget {
  #left = MAX_STEPS

  /** Returns false, and uses nothing, if fewer steps are left. */
  spend(steps: number): boolean {
    if (steps > this.#left) return false
    this.#left -= steps
    return true
  }
}

/** The whole text must match, as in HTML. The syntax is that of JavaScript without look-around and back-references. */
export function matchesPattern(
  pattern: string,
  text: string,
  budget: PatternBudget,
): 'matches' | 'differs' | 'too_long' {
  if (text.length > MAX_TEXT_CHARACTERS) return 'too_long'
  const compiled = compile(pattern)
  if (!budget.spend(compiled.programSize() * text.length)) return 'too_long'
  return compiled.testExact(text) ? 'matches' : 'differs'
}

/** Returns the size of the compiled pattern, or why it cannot be used. */
export function measurePattern(pattern: string): { size: number } | { problem: string } {
  if (pattern.length > MAX_PATTERN_CHARACTERS)
    return { problem: `is longer than ${MAX_PATTERN_CHARACTERS} characters` }
  if (estimateSize(pattern) > MAX_ESTIMATED_SIZE) return { problem: 'repeats too much' }
  try {
    const size = compile(pattern).programSize()
    return size > MAX_PROGRAM_SIZE ? { problem: 'repeats too much' } : { size }
  } catch (error) {
    const why =
      error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : 'it does not compile'
    return { problem: `cannot run in linear time: ${why}` }
  }
}

/** A Unicode class such as `\p{L}` has hundreds of ranges and counts this much at each occurrence, whether repeated or not. */
const UNICODE_CLASS_SIZE = 10

const token =
  /\\[pP](?:\{[^}]*\}|.)|\\.|\[(?:\\.|[^\]\\])*\]?|\((?:\?(?:P?<[^>]*>|[a-zA-Z-]*:))?|\)|\{(\d+)(,(\d*))?\}|[*+?]|./gsu

/** Estimates the number of instructions: the content of a group counts as often as the group is repeated. */
function estimateSize(pattern: string): number {
  const outer: number[] = []
  let sum = 0
  let atom = 0
  const unicodeClasses = pattern.match(/\\[pP]/g)?.length ?? 0
  const next = (size: number) => {
    sum += atom
    atom = size
  }
  for (const [text, min, range, max] of pattern.matchAll(token)) {
    if (text.startsWith('(')) {
      next(0)
      outer.push(sum)
      sum = 0
    } else if (text === ')') {
      const inside = sum + atom
      sum = outer.pop() ?? 0
      atom = inside + 1
    } else if (min !== undefined) {
      const times = Math.max(Number(min), Number(range ? max : 0), 1)
      atom = (atom + 1) * times
    } else if (/^[*+?]$/.test(text)) atom += 1
    else next(1)
  }
  return [...outer, sum, atom].reduce((all, each) => all + each, unicodeClasses * UNICODE_CLASS_SIZE)
}

function compile(pattern: string): RE2JS {
  return RE2JS.compile(RE2JS.translateRegExp(pattern))
}
