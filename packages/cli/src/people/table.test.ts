import { expect, it } from 'vitest'
import { table } from './table.js'

it('has one line for each row, whatever agents have written', () => {
  const text = table([
    ['1', 'Bash {"command":"ls"}\n2  approval  forged\r\n\u001b[2J\u009b1m\u202e'],
    ['22', 'b'],
  ])
  expect(text.split('\n')).toEqual([
    '1   Bash {"command":"ls"} ⏎ 2  approval  forged ⏎ ⟦ESC[2J⟧⟦U+009B⟧1m⟦U+202E⟧',
    '22  b',
    '',
  ])
})

it.each([
  ['abcdef', 6, 'abcdef'],
  ['abcdefg', 6, 'abcde…'],
  ['日本語です', 6, '日本…'],
  ['a\u001b[2Jbcd', 6, 'a⟦ES…'],
])('cuts %j to the width of the terminal', (cell, columns, shown) => {
  expect(table([[cell]], { columns })).toBe(`${shown}\n`)
})
