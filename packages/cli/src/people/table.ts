import { spellOutLine } from '@askback/protocol/hidden-characters'

/**
 * Rows in columns, each on one line: what agents have written must not move the cursor, hide, or look like another row. A
 * row is cut to `columns`, where there is such a width.
 */
export function table(
  rows: string[][],
  { columns = Infinity }: { columns?: number | undefined } = {},
): string {
  const shown = rows.map((row) => row.map((cell) => spellOutLine(cell, 'code')))
  const widths = shown.reduce<number[]>(
    (known, row) => row.map((cell, index) => Math.max(cell.length, known[index] ?? 0)),
    [],
  )
  const line = (row: string[]) => row.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join('  ')
  return shown.map((row) => `${cutTo(line(row).trimEnd(), columns)}\n`).join('')
}

/** Counts a wide character as two columns, so that a row never takes two lines. */
export function cutTo(text: string, columns: number): string {
  let width = 0
  let kept = ''
  let fits = ''
  for (const character of text) {
    width += character.codePointAt(0)! >= 0x1100 ? 2 : 1
    if (width > columns) return `${fits}…`
    kept += character
    // Where there is room for the mark after it.
    if (width < columns) fits = kept
  }
  return kept
}
