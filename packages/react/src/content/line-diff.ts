import { diffArrays } from 'diff'

/** A run of lines that stay, go or come. */
export interface LineChange {
  type: 'same' | 'added' | 'removed'
  lines: string[]
}

/**
 * The exact comparison takes time with the square of the number of changes. A stretch with more changes than this, and
 * without a line that occurs once on both sides, is shown as replaced. A count, not a time: the same edit must look the same
 * on every machine.
 */
const MOST_EDITS = 2000

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

/** Patience diff: lines that occur once on both sides divide the rest into smaller stretches. */
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
  const found = diffArrays(before, after, { maxEditLength: MOST_EDITS })
  if (!found) {
    add(changes, 'removed', before)
    add(changes, 'added', after)
    return
  }
  for (const { value, added, removed } of found) {
    add(changes, added ? 'added' : removed ? 'removed' : 'same', value)
  }
}

/** Neighbours of the same type become one change. */
function add(changes: LineChange[], type: LineChange['type'], lines: string[]): void {
  if (lines.length === 0) return
  const last = changes.at(-1)
  if (last?.type === type) for (const line of lines) last.lines.push(line)
  else changes.push({ type, lines: [...lines] })
}

interface Anchor {
  left: number
  right: number
}

/** Lines that occur once on both sides, in the longest row of them that keeps its order. */
function anchorsOf(before: string[], after: string[]): Anchor[] {
  const onlyRight = placesOfUnique(after)
  const pairs = [...placesOfUnique(before)].flatMap(([line, left]) => {
    const right = onlyRight.get(line)
    return right === undefined ? [] : [{ left, right }]
  })
  return longestIncreasing(pairs)
}

function placesOfUnique(lines: string[]): Map<string, number> {
  const places = new Map<string, number>()
  const repeated = new Set<string>()
  for (const [index, line] of lines.entries()) {
    if (places.has(line)) repeated.add(line)
    else places.set(line, index)
  }
  for (const line of repeated) places.delete(line)
  return places
}

/** Of pairs in order of `left`, the longest row in which `right` grows as well. */
function longestIncreasing(pairs: Anchor[]): Anchor[] {
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
  const row: Anchor[] = []
  for (let at = tails.at(-1) ?? -1; at >= 0; at = previous[at]!) row.push(pairs[at]!)
  return row.toReversed()
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
