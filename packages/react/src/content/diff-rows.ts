export interface DiffRow {
  type: 'same' | 'added' | 'removed'
  /** Counted from 1 inside the piece that is replaced, as only that is known. */
  before: number | null
  after: number | null
  text: string
}

/** A comparison that takes longer than this is not worth it: then everything goes, and everything comes. */
const PATIENCE_MS = 300

export async function diffRows(before: string, after: string): Promise<DiffRow[]> {
  const { diffLines } = await import('diff')
  const parts = diffLines(before, after, { timeout: PATIENCE_MS }) ?? [
    { value: before, removed: true, added: false },
    { value: after, removed: false, added: true },
  ]
  const rows: DiffRow[] = []
  let left = 0
  let right = 0
  for (const { value, added, removed } of parts) {
    for (const text of linesOf(value)) {
      if (added) rows.push({ type: 'added', before: null, after: ++right, text })
      else if (removed) rows.push({ type: 'removed', before: ++left, after: null, text })
      else rows.push({ type: 'same', before: ++left, after: ++right, text })
    }
  }
  return rows
}

/** A unified diff as it stands: a line that is none of its kinds is shown like one that stays. */
export function patchRows(patch: string): DiffRow[] {
  let left = NaN
  let right = NaN
  const numbered = (number: number) => (Number.isNaN(number) ? null : number)
  return linesOf(patch).map((line): DiffRow => {
    const [, before, after] = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line) ?? []
    if (before !== undefined && after !== undefined) {
      ;[left, right] = [Number(before), Number(after)]
      return { type: 'same', before: null, after: null, text: line }
    }
    const text = line.slice(1)
    if (line.startsWith('+')) return { type: 'added', before: null, after: numbered(right++), text }
    if (line.startsWith('-')) return { type: 'removed', before: numbered(left++), after: null, text }
    if (line.startsWith(' '))
      return { type: 'same', before: numbered(left++), after: numbered(right++), text }
    return { type: 'same', before: null, after: null, text: line }
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
