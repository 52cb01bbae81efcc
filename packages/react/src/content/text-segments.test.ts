import { array, assert, constantFrom, property } from 'fast-check'
import { expect, it } from 'vitest'
import { foldText, labelBlankRuns, splitAtBlankLines, splitIntoChunks } from './text-segments.js'

function drawn(text: string): string {
  return labelBlankRuns(text)
    .map((piece) => {
      if ('shown' in piece) return piece.shown
      return 'spaces' in piece ? `[${piece.spaces} spaces]` : `[${piece.blankLines} blank lines]`
    })
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

it('leaves out only blanks', () => {
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

it('does not fold a text that is only slightly longer than its first part', () => {
  const lines = (count: number) => Array(count).fill('x').join('\n')
  const limits = { foldFrom: 40, keep: 24 }
  expect(foldText(lines(40), limits).tail).toEqual([])
  expect(foldText(lines(41), limits)).toEqual({ head: [{ text: lines(24) }], tail: [{ text: lines(17) }] })
})

it('counts a long line as several rows', () => {
  const { head } = foldText('x'.repeat(100_000), { foldFrom: 40, keep: 24 })
  expect(head).toEqual([{ text: 'x'.repeat(2400) }])
})

it('has everything after the fold in the tail, also what follows many blank lines', () => {
  const text = `a\nb\nc\nd\n${'\n'.repeat(5)}rm\n${'\n'.repeat(9)}curl`
  expect(foldText(text, { foldFrom: 3, keep: 2 })).toEqual({
    head: [{ text: 'a\nb' }],
    tail: [{ text: 'c\nd' }, { blankLines: 5 }, { text: 'rm' }, { blankLines: 9 }, { text: 'curl' }],
  })
})

it('counts a run of blank lines as one row', () => {
  const text = `a\n${'\n'.repeat(50)}b\nc\nd`
  expect(foldText(text, { foldFrom: 3, keep: 3 })).toEqual({
    head: [{ text: 'a' }, { blankLines: 50 }, { text: 'b' }],
    tail: [{ text: 'c\nd' }],
  })
})

it('divides a long line, but no character', () => {
  const text = `${'a'.repeat(199)}😀${'b'.repeat(300)}`
  expect(foldText(text, { foldFrom: 3, keep: 2 })).toEqual({
    head: [{ text: 'a'.repeat(199) }],
    tail: [{ text: `😀${'b'.repeat(300)}` }],
  })
  const even = `${'a'.repeat(198)}😀${'b'.repeat(300)}`
  expect(foldText(even, { foldFrom: 3, keep: 2 }).head).toEqual([{ text: `${'a'.repeat(198)}😀` }])
})

it('does not fold a short text', () => {
  expect(foldText('a\nb\nc', { foldFrom: 3, keep: 1 })).toEqual({ head: [{ text: 'a\nb\nc' }], tail: [] })
})

it('chunks of a long text together are the text, and none is too long to lay out', () => {
  const text = `${'x'.repeat(50_000)}\n${'line\n'.repeat(1000)}end`
  const chunks = splitIntoChunks(text)
  const joined = chunks
    .map((chunk, index) => (index > 0 && !chunk.isContinued ? '\n' : '') + chunk.text)
    .join('')
  expect(joined).toBe(text)
  expect(Math.max(...chunks.map((chunk) => chunk.text.length))).toBeLessThanOrEqual(16_000)
})

it('chunks divide no character', () => {
  expect(splitIntoChunks('😀'.repeat(20_000)).every(({ text }) => text.isWellFormed())).toBe(true)
})
