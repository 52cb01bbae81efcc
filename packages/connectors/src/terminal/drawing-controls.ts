import type { Writable } from 'node:stream'
import { styleText } from 'node:util'
import type { CardControl, TextCard } from '../cards/card.js'
import { markLines, wrapText } from './drawing.js'
import { isAnswerable, SHOW_MORE } from './terminal-input.js'

export interface Screen {
  rows: number
  columns: number
}

export function screenOf(output: Writable): Screen {
  const { rows = 24, columns = 80 } = sizeOf(output)
  return { rows, columns }
}

/** Without a screen, lines do not need to be broken. */
export function columnsOf(output: Writable): number {
  return sizeOf(output).columns ?? Infinity
}

/** Only a terminal has a size; a file or a pipe has none. */
export function sizeOf(output: Writable): { rows: number | undefined; columns: number | undefined } {
  return {
    rows: 'rows' in output && typeof output.rows === 'number' ? output.rows : undefined,
    columns: 'columns' in output && typeof output.columns === 'number' ? output.columns : undefined,
  }
}

/**
 * Draws the controls of a card with a help line. It never has more rows than the screen: rows that scrolled off the screen
 * can neither be seen nor be removed when the controls change.
 */
export function drawControls(
  card: TextCard,
  { at, openCards, hasAgent, screen }: { at: number; openCards: number; hasAgent: boolean; screen: Screen },
): string {
  const { controls, asks } = card
  const head = asks === null ? [] : markLines(asks, screen.columns, ['', '│ '])
  const foot = wrapText(keyHelp(card, openCards, hasAgent), screen.columns)
  const rows = controls.map((control, index) => rowOf(control, index, at, screen.columns))
  const room = screen.rows - 1 - head.length - foot.length
  const dim = foot.map((line) => styleText('dim', line))
  if (rows.flat().length <= room) return [...head, ...rows.flat(), ...dim].join('\n')
  // In a very small window the choices need the room more than the help does.
  const isTight = room < MIN_ROWS_FOR_CHOICES
  const left = isTight ? screen.rows - 1 : room
  return [...(isTight ? [] : head), ...rowsAround(rows, at, left), ...(isTight ? [] : dim)].join('\n')
}

/** If fewer rows are left for the choices, the help line is not drawn. */
const MIN_ROWS_FOR_CHOICES = 5

function keyHelp(card: TextCard, openCards: number, hasAgent: boolean): string {
  const { controls } = card
  const has = (id: string) => controls.some((control) => control.id === id)
  const keys = [
    has(SHOW_MORE) ? 'Space shows more' : '',
    has('approve') ? 'a approve' : '',
    has('deny') ? 'd deny' : '',
    controls.length > 0 && !has('deny') && !has(SHOW_MORE) ? '↑↓ Enter or a number' : '',
    controls.some(({ checked }) => checked !== undefined) ? 'Space ticks, Enter is done' : '',
    isAnswerable(card) ? 't answer with a text' : hasAgent ? 't message the agent' : 't write a note',
    openCards > 1 ? `Tab next of ${openCards}` : '',
    '? help',
    'Ctrl-C leaves',
  ]
  return keys.filter(Boolean).join(' · ')
}

function rowOf({ label, checked }: CardControl, index: number, at: number, columns: number): string[] {
  const box = checked === undefined ? '' : checked ? '[x] ' : '[ ] '
  const first = `${index === at ? '❯' : ' '} ${index + 1} ${box}`
  const lines = markLines(label, columns, [first, '  │ '])
  return index === at ? lines.map((line) => styleText('bold', line)) : lines
}

/** The marked control and as many around it as fit. */
function rowsAround(rows: string[][], at: number, room: number): string[] {
  let first = Math.max(at, 0)
  let last = first
  // One row above and one below say how many are not shown.
  let left = room - 2 - rows[first]!.length
  for (;;) {
    const [above, below] = [rows[first - 1], rows[last + 1]]
    if (below && below.length <= left) left -= rows[++last]!.length
    else if (above && above.length <= left) left -= rows[--first]!.length
    else break
  }
  const shown = rows
    .slice(first, last + 1)
    .flat()
    .slice(0, Math.max(room - 2, 1))
  const more = (count: number, arrow: string) =>
    count > 0 ? [styleText('dim', `${arrow} ${count} more`)] : []
  return [...more(first, '↑'), ...shown, ...more(rows.length - 1 - last, '↓')]
}
