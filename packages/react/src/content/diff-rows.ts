import type { FileEdit } from './file-edits.js'
import type { LineChange } from './line-diff.js'
import { groupBlankLines } from './text-segments.js'
import { workerCall } from './worker-call.js'

export interface DiffRow {
  type: 'same' | 'added' | 'removed'
  /** Line numbers in the file; `null` if not known or not on that side. */
  before: number | null
  after: number | null
  text: string
  /**
   * The line has no line break at its end, and its counterpart has one. Without a remark the two would look the same.
   */
  lacksLineBreak?: boolean
  /** A line of a patch without a mark for context, addition or removal: a header, or anything else. */
  isUnmarked?: boolean
  /** Only the patch says that the line is unchanged: the file itself was not compared. */
  isUnverified?: boolean
}

export interface CompareInput {
  before: string
  after: string
}

const worker = workerCall(
  () => new Worker(new URL('./diff-worker.js', import.meta.url), { type: 'module' }),
  async ({ before, after }: CompareInput): Promise<LineChange[]> => {
    const { diffLines } = await import('./line-diff.js')
    return diffLines(before, after)
  },
)

/** The rows of an edit. Texts are compared in a worker, as that can take a while. */
export async function diffRows(edit: FileEdit): Promise<DiffRow[]> {
  if ('patch' in edit) return patchRows(edit.patch)
  const { before, after, firstLine = null } = edit
  const hasTwoSides = before !== '' && after !== ''
  // Both parts of a file usually end inside a line, which is no difference.
  const isUnendedOnBoth = hasTwoSides && !before.endsWith('\n') && !after.endsWith('\n')
  const end = isUnendedOnBoth ? '\n' : ''
  const rows: DiffRow[] = []
  let left = firstLine
  let right = firstLine
  for (const { type, lines } of await worker.call({ before: before + end, after: after + end })) {
    for (const line of lines) {
      const lacksLineBreak = hasTwoSides && !line.endsWith('\n')
      rows.push({
        type,
        before: type === 'added' ? null : left,
        after: type === 'removed' ? null : right,
        text: line.replace(/\n$/, ''),
        ...(lacksLineBreak && { lacksLineBreak }),
      })
      if (left !== null && type !== 'added') left += 1
      if (right !== null && type !== 'removed') right += 1
    }
  }
  return rows
}

export function countChanges(diffs: DiffRow[][]): { added: number; removed: number } {
  const rows = diffs.flat()
  return {
    added: rows.filter(({ type }) => type === 'added').length,
    removed: rows.filter(({ type }) => type === 'removed').length,
  }
}

/** An item of a diff on screen: a row, unchanged rows that are folded, or a run of blank lines that is counted. */
export type DiffItem =
  | { kind: 'row'; row: DiffRow }
  | { kind: 'unchanged'; rows: DiffRow[] }
  | { kind: 'blank'; rows: DiffRow[] }

/** Unchanged lines that are shown on each side of a change. */
const CONTEXT_LINES = 3

/**
 * Folds unchanged lines far from any change, and counts long runs of blank lines. Lines that only a patch calls
 * unchanged are not folded, as they may be anything.
 */
export function foldRows(rows: readonly DiffRow[]): DiffItem[] {
  const isNear = nearChanges(rows)
  const items: DiffItem[] = []
  for (const [index, row] of rows.entries()) {
    const last = items.at(-1)
    if (isNear[index]) items.push({ kind: 'row', row })
    else if (last?.kind === 'unchanged') last.rows.push(row)
    else items.push({ kind: 'unchanged', rows: [row] })
  }
  const withoutSingleFolds = items.flatMap((item): DiffItem[] =>
    // A fold needs one line itself.
    item.kind === 'unchanged' && item.rows.length < 2
      ? item.rows.map((row) => ({ kind: 'row', row }))
      : [item],
  )
  return groupBlankLines(withoutSingleFolds, isBlank, isSameType).map((group): DiffItem =>
    group.length > 1 ? { kind: 'blank', rows: group.flatMap(rowsOfItem) } : group[0]!,
  )
}

function nearChanges(rows: readonly DiffRow[]): boolean[] {
  // A line of a patch without a mark may say anything, so it is never folded.
  const isChange = (row: DiffRow) => row.type !== 'same' || row.isUnmarked === true
  const isNear = rows.map(({ isUnverified }) => isUnverified === true)
  for (const [index, row] of rows.entries()) {
    if (isChange(row)) isNear.fill(true, Math.max(0, index - CONTEXT_LINES), index + CONTEXT_LINES + 1)
  }
  return isNear
}

function isBlank(item: DiffItem): boolean {
  return item.kind === 'row' && item.row.text.trim() === '' && item.row.isUnmarked !== true
}

function isSameType(one: DiffItem, other: DiffItem): boolean {
  return rowsOfItem(one)[0]?.type === rowsOfItem(other)[0]?.type
}

function rowsOfItem(item: DiffItem): DiffRow[] {
  return item.kind === 'row' ? [item.row] : item.rows
}

/** The rows of a unified diff, as it is. */
function patchRows(patch: string): DiffRow[] {
  let left = NaN
  let right = NaN
  const numbered = (number: number) => (Number.isNaN(number) ? null : number)
  return linesOf(patch).map((line): DiffRow => {
    const [, before, after] = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line) ?? []
    if (before !== undefined && after !== undefined) {
      ;[left, right] = [Number(before), Number(after)]
      return { type: 'same', before: null, after: null, text: line, isUnmarked: true }
    }
    const text = line.slice(1)
    if (line.startsWith('+')) return { type: 'added', before: null, after: numbered(right++), text }
    if (line.startsWith('-')) return { type: 'removed', before: numbered(left++), after: null, text }
    if (line.startsWith(' '))
      return { type: 'same', before: numbered(left++), after: numbered(right++), text, isUnverified: true }
    return { type: 'same', before: null, after: null, text: line, isUnmarked: true }
  })
}

/** A line break at the end belongs to the last line, and does not start another. */
function linesOf(text: string): string[] {
  if (text === '') return []
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

/** One line of the side-by-side view; `null` where a side has no line. */
export interface DiffPair {
  left: DiffRow | null
  right: DiffRow | null
}

/** Pairs rows for the side-by-side view: removed lines next to the added lines that replace them. */
export function pairRows(rows: readonly DiffRow[]): DiffPair[] {
  const pairs: DiffPair[] = []
  let removed: DiffRow[] = []
  let added: DiffRow[] = []
  const closeChange = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++) {
      pairs.push({ left: removed[at] ?? null, right: added[at] ?? null })
    }
    removed = []
    added = []
  }
  for (const row of rows) {
    if (row.type === 'removed' && added.length > 0) closeChange()
    if (row.type === 'removed') removed.push(row)
    else if (row.type === 'added') added.push(row)
    else {
      closeChange()
      pairs.push({ left: row, right: row })
    }
  }
  closeChange()
  return pairs
}
