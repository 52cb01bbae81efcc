import { AskbackError } from '@askback/protocol'

/**
 * Refuses an option that does not exist, and says which one was probably meant. The compiler does the same; this is for callers in
 * JavaScript, and for options that were put together elsewhere. A misspelled `timeout` would otherwise wait ten minutes.
 */
export function checkOptionNames(options: unknown, known: readonly string[], of: string): void {
  if (typeof options !== 'object' || options === null)
    throw new AskbackError('invalid_request', `The options of ${of} must be an object.`)
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue
    const meant = known.find((each) => isSimilar(each, name))
    const hint =
      meant === undefined ? `There are ${known.join(', ')}` : `Did you mean ${JSON.stringify(meant)}`
    const mark = meant === undefined ? '.' : '?'
    throw new AskbackError('invalid_request', `${of} has no option ${JSON.stringify(name)}. ${hint}${mark}`, {
      details: { option: name },
    })
  }
}

const MAX_DISTANCE = 2

/** Whether the names differ only in case, or in up to two letters. */
function isSimilar(one: string, other: string): boolean {
  const [a, b] = [one.toLowerCase(), other.toLowerCase()]
  return a === b || a.startsWith(b) || b.startsWith(a) || distance(a, b) <= MAX_DISTANCE
}

/** How many letters must be added, removed or exchanged (Levenshtein). */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (const [at, letter] of Array.from(one).entries()) {
    const next = [at + 1]
    for (const [index, compared] of Array.from(other).entries())
      next.push(Math.min(next[index]! + 1, row[index + 1]! + 1, row[index]! + (letter === compared ? 0 : 1)))
    row = next
  }
  return row.at(-1)!
}
