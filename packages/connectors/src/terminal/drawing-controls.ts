import type { Card, Control } from '@askback/core'
import type { Writable } from 'node:stream'
import { styleText } from 'node:util'
import { wrapText } from './wrapping.js'

export interface Screen {
  rows: number
  columns: number
}

export function screenOf(output: Writable): Screen {
  const { rows = 24, columns = 80 } = output as Partial<Screen>
  return { rows, columns }
}

/** Never more than the screen has rows: what has left it can neither be seen nor taken away again. */
export function drawControls(
  { controls, asks }: Card,
  { at, waiting, screen }: { at: number; waiting: number; screen: Screen },
): string {
  const head = asks === null ? [] : wrapText(asks, screen.columns)
  const foot = wrapText(keysOf(controls, waiting), screen.columns)
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

function keysOf(controls: Control[], waiting: number): string {
  const keys = [
    controls.some(({ id }) => id === 'approve') ? 'a approve · d deny' : '↑↓ Enter or a number',
    controls.some(({ checked }) => checked !== undefined) ? 'Space ticks, Enter is done' : '',
    't answer with a text',
    waiting > 1 ? `Tab next of ${waiting}` : '',
    'Ctrl-C leaves',
  ]
  return keys.filter(Boolean).join(' · ')
}

function rowOf({ label, checked }: Control, index: number, at: number, columns: number): string[] {
  const box = checked === undefined ? '' : checked ? '[x] ' : '[ ] '
  const lines = wrapText(`${index === at ? '❯' : ' '} ${index + 1} ${box}${label}`, columns)
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
