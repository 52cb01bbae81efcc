import { array, assert, constantFrom, property } from 'fast-check'
import { expect, it, onTestFinished, vi } from 'vitest'
import { diffLines, type LineChange } from './line-diff.js'

function side(changes: LineChange[], gone: LineChange['type']): string {
  return changes.flatMap(({ type, lines }) => (type === gone ? [] : lines)).join('')
}

it('compares a long edit line by line', () => {
  const before = Array.from({ length: 6000 }, (_, line) => `line ${line}\n`)
  const after = before.map((line, index) => (index % 2 === 0 ? line : `changed ${index}\n`))
  const changes = diffLines(before.join(''), after.join(''))
  expect(changes.filter(({ type }) => type === 'same')).toHaveLength(3000)
})

it('gives the same result on a slow machine', () => {
  // No line is unique, so nothing divides the range.
  const before = 'a\nb\n'.repeat(200)
  const after = 'b\nc\na\n'.repeat(150)
  const quickly = diffLines(before, after)
  expect(quickly.filter(({ type }) => type === 'same').length).toBeGreaterThan(10)
  let now = 0
  const clocks = [vi.spyOn(Date, 'now'), vi.spyOn(performance, 'now')]
  for (const clock of clocks) clock.mockImplementation(() => (now += 60_000))
  onTestFinished(() => clocks.forEach((clock) => clock.mockRestore()))
  expect(diffLines(before, after)).toEqual(quickly)
})

it('shows a range with too many changes and nothing in common as replaced', () => {
  const before = 'a\n'.repeat(5000)
  const after = 'b\n'.repeat(5000)
  expect(diffLines(before, after).map(({ type, lines }) => [type, lines.length])).toEqual([
    ['removed', 5000],
    ['added', 5000],
  ])
})

it('treats a line break at the end as a change', () => {
  expect(diffLines('a', 'a\n')).toEqual([
    { type: 'removed', lines: ['a'] },
    { type: 'added', lines: ['a\n'] },
  ])
})

it('contains both texts completely', () => {
  const text = array(constantFrom('a', 'b', 'c', 'd', '', '\n')).map((parts) => parts.join('\n'))
  assert(
    property(text, text, (before, after) => {
      const changes = diffLines(before, after)
      expect(side(changes, 'added')).toBe(before)
      expect(side(changes, 'removed')).toBe(after)
    }),
  )
})
