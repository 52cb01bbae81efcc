import { array, assert, constantFrom, property } from 'fast-check'
import { expect, it } from 'vitest'
import { countBlanks, splitAtBlankLines } from './blank-runs.js'
import { foldText } from './fold-text.js'

function drawn(text: string): string {
  return countBlanks(text)
    .map((piece) => ('shown' in piece ? piece.shown : `[${piece.label}]`))
    .join('')
}

it.each([
  ['blank lines', `ls\n${'\n'.repeat(58)}curl`, 'ls\n[58 blank lines]\ncurl'],
  ['blank lines with spaces in them', `ls\n${'  \t\r\n'.repeat(5)}curl`, 'ls\n[5 blank lines]\ncurl'],
  ['blank lines at the beginning', `${'\n'.repeat(5)}ls`, '[5 blank lines]\nls'],
  ['spaces inside a line', `ls${' '.repeat(200)}; rm`, 'ls[200 spaces]; rm'],
  ['spaces at the end of a line', `ls${' '.repeat(6)}\nrm`, 'ls[6 spaces]\nrm'],
  ['an indentation that leads out of the window', `${' '.repeat(300)}rm`, '[300 spaces]rm'],
])('counts %s', (_what, text, expected) => {
  expect(drawn(text)).toBe(expected)
})

it.each(['a\n\n\nb', '    indented\n\tcode', 'name:        value'])('leaves %j as it is', (text) => {
  expect(drawn(text)).toBe(text)
})

it('leaves out nothing but blanks', () => {
  const text = array(constantFrom('a', ' ', '\n', '\n\n\n\n\n', ' '.repeat(70), '\t')).map((all) =>
    all.join(''),
  )
  const inked = (each: string) => each.replaceAll(/\s/g, '')
  assert(
    property(text, (given) => {
      const { head, tail } = foldText(given, { foldFrom: 3, keep: 2 })
      const all = [...head, ...tail].map((segment) => ('text' in segment ? segment.text : '')).join('')
      expect(inked(all)).toBe(inked(given))
      expect(
        inked(
          splitAtBlankLines(given)
            .map((each) => ('text' in each ? each.text : ''))
            .join(''),
        ),
      ).toBe(inked(given))
      expect(inked(drawn(given).replaceAll(/\[[^\]]*\]/g, ''))).toBe(inked(given))
    }),
  )
})

it('keeps a text together that is hardly longer than what would be shown of it', () => {
  const lines = (count: number) => Array(count).fill('x').join('\n')
  const limits = { foldFrom: 40, keep: 24 }
  expect(foldText(lines(40), limits).tail).toEqual([])
  expect(foldText(lines(41), limits)).toEqual({ head: [{ text: lines(24) }], tail: [{ text: lines(17) }] })
})

it('counts a line that is broken over many rows as many', () => {
  const { head } = foldText('x'.repeat(100_000), { foldFrom: 40, keep: 24 })
  expect(head).toEqual([{ text: 'x'.repeat(2400) }])
})
