const LONGEST = 20_000
const MOST_LINES = 500
const MOST_MARKS = 800
const FENCED = /^ {0,3}(?:`{3,}|~{3,})/
const MARKS = /[*_~[\]<>&`|\\]/g
/** Quotes and lists inside each other, on one line or by indentation. */
const DEEP = /^(?:[ \t]*(?:>|[-*+](?=\s)|\d{1,9}[.)](?=\s))){12}|^[ \t]{60}/m

/**
 * Whether parsing a piece of Markdown would hold up the page: the time that marks take grows with the square of their
 * number. What people and agents write in earnest stays far below.
 */
export function isCostly(block: string): boolean {
  if (block.length > LONGEST) return true
  if (FENCED.test(block)) return false
  return count(block, /\n/g) > MOST_LINES || count(block, MARKS) > MOST_MARKS || DEEP.test(block)
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0
}
