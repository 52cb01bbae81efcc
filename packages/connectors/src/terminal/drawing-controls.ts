import type { Card, Control } from '@askback/core'
import type { Writable } from 'node:stream'
import { styleText } from 'node:util'
import { markLines, wrapText } from './wrapping.js'

export interface Screen {
  rows: number
  columns: number
}

export function screenOf(output: Writable): Screen {
  const { rows = 24, columns = 80 } = output as Partial<Screen>
  return { rows, columns }
}

/** Lines do not break by themselves where there is no screen. */
export function columnsOf(output: Writable): number {
  return (output as Partial<Screen>).columns ?? Infinity
}

/** Such a request can be seen here, and answered where its own renderer is. */
export function isAnswerable({ controls, asks }: Card): boolean {
  return controls.length > 0 || asks !== null
}

/** Where a text goes that answers nothing. */
export function textGoes(hasAgent: boolean): string {
  return hasAgent ? 'A text goes to the agent' : 'A text is only a note; no agent reads it'
}

/** Never more than the screen has rows: what has left it can neither be seen nor taken away again. */
export function drawControls(
  card: Card,
  { at, waiting, hasAgent, screen }: { at: number; waiting: number; hasAgent: boolean; screen: Screen },
): string {
  const { controls, asks } = card
  const head = asks === null ? [] : markLines(asks, screen.columns, ['', '│ '])
  const foot = wrapText(keysOf(card, waiting, hasAgent), screen.columns)
  const rows = controls.map((control, index) => rowOf(control, index, at, screen.columns))
  const room = screen.rows - 1 - head.length - foot.length
  const dim = foot.map((line) => styleText('dim', line))
  if (rows.flat().length <= room) return [...head, ...rows.flat(), ...dim].join('\n')
  // The keys are known by now, or can be read in a window of their size; the choices can not.
  const isTight = room < LEAST_ROOM
  const left = isTight ? screen.rows - 1 : room
  return [...(isTight ? [] : head), ...rowsAround(rows, at, left), ...(isTight ? [] : dim)].join('\n')
}

const LEAST_ROOM = 5

/** The control that shows the next page of a card. */
export const MORE = 'more'

function keysOf(card: Card, waiting: number, hasAgent: boolean): string {
  const { controls } = card
  const has = (id: string) => controls.some((control) => control.id === id)
  const keys = [
    has(MORE) ? 'Space shows more' : '',
    has('approve') ? 'a approve' : '',
    has('deny') ? 'd deny' : '',
    controls.length > 0 && !has('deny') && !has(MORE) ? '↑↓ Enter or a number' : '',
    controls.some(({ checked }) => checked !== undefined) ? 'Space ticks, Enter is done' : '',
    isAnswerable(card) ? 't answer with a text' : hasAgent ? 't message the agent' : 't write a note',
    waiting > 1 ? `Tab next of ${waiting}` : '',
    '? help',
    'Ctrl-C leaves',
  ]
  return keys.filter(Boolean).join(' · ')
}

function rowOf({ label, checked }: Control, index: number, at: number, columns: number): string[] {
  const box = checked === undefined ? '' : checked ? '[x] ' : '[ ] '
  const first = `${index === at ? '❯' : ' '} ${index + 1} ${box}`
  const lines = markLines(label, columns, [first, '  │ '])
  return index === at ? lines.map((line) => styleText('bold', line)) : lines
}

/** The marked one and as many around it as there is room for. */
function rowsAround(rows: string[][], at: number, room: number): string[] {
  let first = Math.max(at, 0)
  let last = first
  // One line on each side says what is missing.
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
