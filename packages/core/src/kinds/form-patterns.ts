import { RE2JS } from 're2js'

// Patterns come from agents. RE2 runs them in linear time, at worst one step for each instruction of the program and each
// character of the text; these limits keep all patterns of a form together well below 50 ms of a slow machine. They count steps and
// not time, so that the same form is refused or taken everywhere.

const MAX_PATTERN = 1000
/** Of a program times the length of the text it is run on: some 30 ms. */
const MAX_STEPS = 90_000
/** A text that a program needs is no longer than the program: with this one it can be matched within `MAX_STEPS`. */
const MAX_PROGRAM = Math.floor(Math.sqrt(MAX_STEPS))
/** Compiling costs before the size is known, so that what is clearly too large is not compiled. */
const MAX_ESTIMATE = 2 * MAX_PROGRAM
const MAX_MATCHED = 5_000

/** The steps that are left for one answer. */
export class PatternBudget {
  #left = MAX_STEPS

  spend(steps: number): boolean {
    if (steps > this.#left) return false
    this.#left -= steps
    return true
  }
}

/** As in HTML the whole text must match. Written as in JavaScript, without look-around and back-references. */
export function matchesPattern(
  pattern: string,
  text: string,
  budget: PatternBudget,
): 'matches' | 'differs' | 'too_long' {
  if (text.length > MAX_MATCHED) return 'too_long'
  const compiled = compile(pattern)
  if (!budget.spend(compiled.programSize() * text.length)) return 'too_long'
  return compiled.testExact(text) ? 'matches' : 'differs'
}

/** What a pattern costs, or why it cannot be used. */
export function measurePattern(pattern: string): { size: number } | { problem: string } {
  if (pattern.length > MAX_PATTERN) return { problem: `is longer than ${MAX_PATTERN} characters` }
  if (estimateSize(pattern) > MAX_ESTIMATE) return { problem: 'repeats too much' }
  try {
    const size = compile(pattern).programSize()
    return size > MAX_PROGRAM ? { problem: 'repeats too much' } : { size }
  } catch (error) {
    const why =
      error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : 'it does not compile'
    return { problem: `cannot run in linear time: ${why}` }
  }
}

/** A class of Unicode holds hundreds of ranges, which cost once for each place where it is written. */
const UNICODE_CLASS = 10

const token =
  /\\[pP](?:\{[^}]*\}|.)|\\.|\[(?:\\.|[^\]\\])*\]?|\((?:\?(?:P?<[^>]*>|[a-zA-Z-]*:))?|\)|\{(\d+)(,(\d*))?\}|[*+?]|./gsu

/** About how many instructions a pattern compiles to: what is in a group counts as often as that is repeated. */
function estimateSize(pattern: string): number {
  const outer: number[] = []
  let sum = 0
  let atom = 0
  const classes = pattern.match(/\\[pP]/g)?.length ?? 0
  const next = (size: number) => {
    sum += atom
    atom = size
  }
  for (const [text, least, range, most] of pattern.matchAll(token)) {
    if (text.startsWith('(')) {
      next(0)
      outer.push(sum)
      sum = 0
    } else if (text === ')') {
      const inside = sum + atom
      sum = outer.pop() ?? 0
      atom = inside + 1
    } else if (least !== undefined) {
      const times = Math.max(Number(least), Number(range ? most : 0), 1)
      atom = (atom + 1) * times
    } else if (/^[*+?]$/.test(text)) atom += 1
    else next(1)
  }
  return [...outer, sum, atom].reduce((all, each) => all + each, classes * UNICODE_CLASS)
}

function compile(pattern: string): RE2JS {
  return RE2JS.compile(RE2JS.translateRegExp(pattern))
}
