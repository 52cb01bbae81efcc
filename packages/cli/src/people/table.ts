import { spellOut } from '@askback/protocol/hidden-characters'

/** Rows in columns, each on a line. What agents have written must not move the cursor or hide in the line. */
export function table(rows: string[][]): string {
  const shown = rows.map((row) => row.map(oneLine))
  const widths = shown.reduce<number[]>(
    (known, row) => row.map((cell, index) => Math.max(cell.length, known[index] ?? 0)),
    [],
  )
  const line = (row: string[]) => row.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join('  ')
  return shown.map((row) => `${line(row).trimEnd()}\n`).join('')
}

function oneLine(text: string): string {
  return spellOut(text, 'code').replaceAll(/\s+/g, ' ')
}
