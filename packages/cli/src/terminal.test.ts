import { expect, it } from 'vitest'
import { jsonLine, table } from './terminal.js'

it('escapes characters in JSON that a terminal acts on or hides, and keeps the value', () => {
  const value = { title: 'a\u009b2J\u202eb\u{e0041} é 👍🏽 "\\', list: ['\u001b[2J', '日本'] }
  const line = jsonLine(value)
  expect(JSON.parse(line)).toEqual(value)
  expect(line).toBe(
    String.raw`{"title":"a\u009b2J\u202eb\udb40\udc41 é 👍🏽 \"\\","list":["\u001b[2J","日本"]}`,
  )
})

it('prints one line for each row, whatever agents have written', () => {
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
