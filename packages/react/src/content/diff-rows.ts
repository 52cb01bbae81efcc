import { groupBlankLines } from './blank-runs.js'
import type { FileEdit } from './file-edits.js'
import type { LineChange } from './line-diff.js'
import { workerCall } from './worker-call.js'

export interface DiffRow {
  type: 'same' | 'added' | 'removed'
  /** The line's number in the file; `null` where that is not known. */
  before: number | null
  after: number | null
  text: string
  /** It ends without a line break, and the other side does not: else the two lines would look the same. */
  isUnended?: boolean
  /** A line of a patch that neither stays nor goes nor comes: a header, or anything else that stands there. */
  isOther?: boolean
  /** That it is unchanged is only what the patch says: the file was not compared. */
  isClaimed?: boolean
}

export interface ToCompare {
  before: string
  after: string
}

const worker = workerCall(
  () => new Worker(new URL('./diff-worker.js', import.meta.url), { type: 'module' }),
  async ({ before, after }: ToCompare): Promise<LineChange[]> => {
    const { diffLines } = await import('./line-diff.js')
    return diffLines(before, after)
  },
)

/** The rows of an edit, compared in a worker, as that can take a while. */
export async function diffRows(edit: FileEdit): Promise<DiffRow[]> {
  if ('patch' in edit) return patchRows(edit.patch)
  const { before, after, firstLine = null } = edit
  const hasTwoSides = before !== '' && after !== ''
  // Pieces of a file mostly end inside a line on both sides: that is no difference.
  const isUnendedOnBoth = hasTwoSides && !before.endsWith('\n') && !after.endsWith('\n')
  const end = isUnendedOnBoth ? '\n' : ''
  const rows: DiffRow[] = []
  let left = firstLine
  let right = firstLine
  for (const { type, lines } of await worker.call({ before: before + end, after: after + end })) {
    for (const line of lines) {
      const isUnended = hasTwoSides && !line.endsWith('\n')
      rows.push({
        type,
        before: type === 'added' ? null : left,
        after: type === 'removed' ? null : right,
        text: line.replace(/\n$/, ''),
        ...(isUnended && { isUnended }),
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

/** What is drawn of a diff: rows, unchanged lines that are folded away, and blank lines that are counted. */
export type DiffItem =
  | { kind: 'row'; row: DiffRow }
  | { kind: 'unchanged'; rows: DiffRow[] }
  | { kind: 'blank'; rows: DiffRow[] }

/** Unchanged lines on each side of a change, to tell where it is. */
const CONTEXT = 3

/**
 * Folds unchanged lines far from any change, and counts long runs of blank lines. Lines that only a patch calls unchanged
 * are not folded: nobody would see what else they are.
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
  const opened = items.flatMap((item): DiffItem[] =>
    // A fold takes a line itself.
    item.kind === 'unchanged' && item.rows.length < 2
      ? item.rows.map((row) => ({ kind: 'row', row }))
      : [item],
  )
  return groupBlankLines(opened, isBlank, isSameType).map((group): DiffItem =>
    group.length > 1 ? { kind: 'blank', rows: group.flatMap(rowsOfItem) } : group[0]!,
  )
}

function nearChanges(rows: readonly DiffRow[]): boolean[] {
  // A line of a patch that is none of its kinds may say anything, and stays.
  const isChange = (row: DiffRow) => row.type !== 'same' || row.isOther === true
  const isNear = rows.map(({ isClaimed }) => isClaimed === true)
  for (const [index, row] of rows.entries()) {
    if (isChange(row)) isNear.fill(true, Math.max(0, index - CONTEXT), index + CONTEXT + 1)
  }
  return isNear
}

function isBlank(item: DiffItem): boolean {
  return item.kind === 'row' && item.row.text.trim() === '' && item.row.isOther !== true
}

function isSameType(one: DiffItem, other: DiffItem): boolean {
  return rowsOfItem(one)[0]?.type === rowsOfItem(other)[0]?.type
}

function rowsOfItem(item: DiffItem): DiffRow[] {
  return item.kind === 'row' ? [item.row] : item.rows
}

/** A unified diff as it stands. */
function patchRows(patch: string): DiffRow[] {
  let left = NaN
  let right = NaN
  const numbered = (number: number) => (Number.isNaN(number) ? null : number)
  return linesOf(patch).map((line): DiffRow => {
    const [, before, after] = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line) ?? []
    if (before !== undefined && after !== undefined) {
      ;[left, right] = [Number(before), Number(after)]
      return { type: 'same', before: null, after: null, text: line, isOther: true }
    }
    const text = line.slice(1)
    if (line.startsWith('+')) return { type: 'added', before: null, after: numbered(right++), text }
    if (line.startsWith('-')) return { type: 'removed', before: numbered(left++), after: null, text }
    if (line.startsWith(' '))
      return { type: 'same', before: numbered(left++), after: numbered(right++), text, isClaimed: true }
    return { type: 'same', before: null, after: null, text: line, isOther: true }
  })
}

/** The last line break ends the last line; it does not begin another. */
function linesOf(text: string): string[] {
  if (text === '') return []
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

export interface DiffPair {
  left: DiffRow | null
  right: DiffRow | null
}

/** Side by side: what was taken away next to what came in its place. */
export function pairRows(rows: readonly DiffRow[]): DiffPair[] {
  const pairs: DiffPair[] = []
  let removed: DiffRow[] = []
  let added: DiffRow[] = []
  const close = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++) {
      pairs.push({ left: removed[at] ?? null, right: added[at] ?? null })
    }
    removed = []
    added = []
  }
  for (const row of rows) {
    if (row.type === 'removed' && added.length > 0) close()
    if (row.type === 'removed') removed.push(row)
    else if (row.type === 'added') added.push(row)
    else {
      close()
      pairs.push({ left: row, right: row })
    }
  }
  close()
  return pairs
}
