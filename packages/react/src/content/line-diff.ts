import { diffArrays } from 'diff'

/** A run of lines that are unchanged, added or removed. */
export interface LineChange {
  type: 'same' | 'added' | 'removed'
  lines: string[]
}

/**
 * The time of the exact comparison grows with the square of the number of changes. A range with more changes than
 * this, and without a line that is unique on both sides, is shown as replaced. The limit is a count and not a time,
 * so that the same edit looks the same on every machine.
 */
const MAX_EDITS = 2000

/** Compares two texts line by line. Each line keeps its line break, so that a missing one at the end is a change. */
export function diffLines(before: string, after: string): LineChange[] {
  const changes: LineChange[] = []
  compare(linesOf(before), linesOf(after), changes)
  return changes
}

function compare(before: string[], after: string[], changes: LineChange[]): void {
  const start = commonStart(before, after)
  const end = commonEnd(before.slice(start), after.slice(start))
  const left = before.slice(start, before.length - end)
  const right = after.slice(start, after.length - end)
  add(changes, 'same', before.slice(0, start))
  compareMiddle(left, right, changes)
  add(changes, 'same', before.slice(before.length - end))
}

/** Patience diff: lines that are unique on both sides divide the texts into smaller ranges. */
function compareMiddle(before: string[], after: string[], changes: LineChange[]): void {
  const anchors = before.length > 0 && after.length > 0 ? anchorsOf(before, after) : []
  if (anchors.length === 0) return compareExactly(before, after, changes)
  let left = 0
  let right = 0
  for (const anchor of anchors) {
    compare(before.slice(left, anchor.left), after.slice(right, anchor.right), changes)
    add(changes, 'same', before.slice(anchor.left, anchor.left + 1))
    left = anchor.left + 1
    right = anchor.right + 1
  }
  compare(before.slice(left), after.slice(right), changes)
}

function compareExactly(before: string[], after: string[], changes: LineChange[]): void {
  const found = diffArrays(before, after, { maxEditLength: MAX_EDITS })
  if (!found) {
    add(changes, 'removed', before)
    add(changes, 'added', after)
    return
  }
  for (const { value, added, removed } of found) {
    add(changes, added ? 'added' : removed ? 'removed' : 'same', value)
  }
}

/** Joins neighbours of the same type. */
function add(changes: LineChange[], type: LineChange['type'], lines: string[]): void {
  if (lines.length === 0) return
  const last = changes.at(-1)
  if (last?.type === type) for (const line of lines) last.lines.push(line)
  else changes.push({ type, lines: [...lines] })
}

interface DiffAnchor {
  left: number
  right: number
}

/** The longest sequence of lines that are unique on both sides and have the same order there. */
function anchorsOf(before: string[], after: string[]): DiffAnchor[] {
  const rightIndexes = indexesOfUniqueLines(after)
  const pairs = [...indexesOfUniqueLines(before)].flatMap(([line, left]) => {
    const right = rightIndexes.get(line)
    return right === undefined ? [] : [{ left, right }]
  })
  return longestIncreasingSequence(pairs)
}

function indexesOfUniqueLines(lines: string[]): Map<string, number> {
  const indexes = new Map<string, number>()
  const repeated = new Set<string>()
  for (const [index, line] of lines.entries()) {
    if (indexes.has(line)) repeated.add(line)
    else indexes.set(line, index)
  }
  for (const line of repeated) indexes.delete(line)
  return indexes
}

/** The longest subsequence of pairs, ordered by `left`, in which `right` increases as well. */
function longestIncreasingSequence(pairs: DiffAnchor[]): DiffAnchor[] {
  const tails: number[] = []
  const previous: number[] = []
  for (const [index, { right }] of pairs.entries()) {
    let [low, high] = [0, tails.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (pairs[tails[middle]!]!.right < right) low = middle + 1
      else high = middle
    }
    previous[index] = low > 0 ? tails[low - 1]! : -1
    tails[low] = index
  }
  const sequence: DiffAnchor[] = []
  for (let at = tails.at(-1) ?? -1; at >= 0; at = previous[at]!) sequence.push(pairs[at]!)
  return sequence.toReversed()
}

function commonStart(before: string[], after: string[]): number {
  let length = 0
  while (length < before.length && length < after.length && before[length] === after[length]) length += 1
  return length
}

function commonEnd(before: string[], after: string[]): number {
  return commonStart(before.toReversed(), after.toReversed())
}

function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? []
}
