import { expect, it } from 'vitest'
import { linesOf, markLines } from './wrapping.js'

const marks: [string, string] = ['── ', '│ ']

/** In the columns of a terminal; the marks have one for each character. */
function widthOf(row: string, mark: string): number {
  const isWide = (character: string) => /[\p{Script=Han}\p{Extended_Pictographic}]/u.test(character)
  return Array.from(row.slice(mark.length)).reduce((sum, each) => sum + (isWide(each) ? 2 : 1), mark.length)
}

it.each([
  ['one long word', 'x'.repeat(300)],
  ['words', 'some words '.repeat(30)],
  ['spaces', `a${' '.repeat(300)}b`],
  ['wide characters', '漢字'.repeat(100)],
  ['emoji', 'a😀'.repeat(100)],
])('breaks %s into rows with a mark each, none wider than the terminal', (_what, text) => {
  for (const columns of [20, 39, 40]) {
    const rows = markLines(text, columns, marks)
    expect(rows.length).toBeGreaterThan(2)
    for (const [index, row] of rows.entries()) {
      const mark = marks[index === 0 ? 0 : 1]
      expect(row.startsWith(mark)).toBe(true)
      expect(widthOf(row, mark)).toBeLessThanOrEqual(columns)
    }
    expect(rows.map((row, index) => row.slice(marks[index === 0 ? 0 : 1].length)).join('')).toBe(text)
  }
})

it('takes no carriage return for an end of a line, and a tab for four columns', () => {
  expect(linesOf('a\r\nb\rc\td')).toEqual(['a', 'b⟦CR⟧c    d'])
})
