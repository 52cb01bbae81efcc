import { spellOut, spellOutLine, splitHiddenCharacters } from '@askback/protocol/hidden-characters'

/*
 * What commands print. Texts may quote an agent, so characters that a terminal acts on or hides are made visible, or escaped
 * in JSON. Without that, an agent could change what a person sees.
 */

/** Prints a line for a person, on stderr. */
export function say(text: string): void {
  process.stderr.write(`${spellOut(text, 'prose')}\n`)
}

/** Prints one line of JSON on stdout. */
export function printJson(value: unknown): void {
  process.stdout.write(`${jsonLine(value)}\n`)
}

/** Prints data on stdout: unchanged for a program, and with hidden characters made visible for a terminal. */
export function printData(text: string): void {
  process.stdout.write(process.stdout.isTTY ? spellOut(text, 'prose') : text)
}

export function jsonLine(value: unknown): string {
  return escapeHidden(JSON.stringify(value))
}

/** Escapes hidden characters in a text that is JSON already. The value that it stands for stays the same. */
export function escapeHidden(json: string): string {
  return splitHiddenCharacters(json, 'prose')
    .map((piece) => ('shown' in piece ? piece.shown : escapeUnits(piece.hidden)))
    .join('')
}

/** JSON escapes UTF-16 units, not characters. */
function escapeUnits(text: string): string {
  return text
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}

/**
 * Aligns rows in columns, each row on one line. A row is cut to `columns`, if that is given, so that what an agent wrote
 * cannot look like another row.
 */
export function table(
  rows: string[][],
  { columns = Infinity }: { columns?: number | undefined } = {},
): string {
  const cells = rows.map((row) => row.map((cell) => spellOutLine(cell, 'code')))
  const widths = cells.reduce<number[]>(
    (known, row) => row.map((cell, index) => Math.max(cell.length, known[index] ?? 0)),
    [],
  )
  const line = (row: string[]) => row.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join('  ')
  return cells.map((row) => `${cutTo(line(row).trimEnd(), columns)}\n`).join('')
}

/** Cuts a text to a width. Counts wide characters as two columns, so that the terminal never breaks the line. */
export function cutTo(text: string, columns: number): string {
  let width = 0
  let all = ''
  let fitting = ''
  for (const character of text) {
    width += character.codePointAt(0)! >= 0x1100 ? 2 : 1
    if (width > columns) return `${fitting}…`
    all += character
    // Leaves one column for the ellipsis.
    if (width < columns) fitting = all
  }
  return all
}

/** Asks the person at the terminal. Everything but "y" and "yes" is a no, also Ctrl-C and Ctrl-D. */
export async function confirm(question: string): Promise<boolean> {
  const { createInterface } = await import('node:readline')
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await new Promise<string>((resolve) => {
    lines.once('close', () => resolve(''))
    lines.question(`${question} [y/N] `, resolve)
  })
  lines.close()
  return /^y(es)?$/i.test(answer.trim())
}
