import { fakeClock } from '@askback/core/testing'
import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import type { CardControl, TextCard } from '../cards/card.js'
import { CardPages } from './card-pages.js'

const approve: CardControl = { id: 'approve', label: 'Approve', role: 'approve' }
const deny: CardControl = { id: 'deny', label: 'Deny', role: 'deny' }
const long: TextCard = {
  cardId: 'card',
  sessionId: 'session',
  interactionId: 'interaction',
  kind: 'approval',
  from: 'Release',
  title: 'Approve Bash?',
  parts: [
    { as: 'code', label: 'command', text: Array.from({ length: 20 }, (_, n) => `line ${n}`).join('\n') },
  ],
  controls: [approve, deny],
  asks: null,
}

function pagesOn(rows: number | undefined) {
  const output = Object.assign(new PassThrough(), { rows, columns: 80 })
  return { output, pages: new CardPages(output, fakeClock()) }
}

const controlIds = (card: TextCard | null) => card?.controls.map(({ id }) => id)

it('offers to approve only after the last page', () => {
  const { pages } = pagesOn(19)
  const first = pages.open(long)
  expect(first.lines).toHaveLength(12)
  expect(controlIds(first.card)).toEqual(['more', 'deny'])
  pages.turn()
  const last = pages.open(long)
  expect([...first.lines, ...last.lines].filter((line) => line.includes('line '))).toHaveLength(20)
  expect(controlIds(last.card)).toEqual(['approve', 'deny'])
})

it('prints the page again after something else was printed, and the whole card once it was read', () => {
  const { pages } = pagesOn(19)
  const { lines } = pages.open(long)
  expect(pages.open(long).lines).toEqual([])
  pages.redraw()
  expect(pages.open(long).lines).toEqual(lines)
  pages.turn()
  pages.open(long)
  pages.redraw()
  const again = pages.open(long)
  expect(again.lines).toHaveLength(22)
  expect(controlIds(again.card)).toEqual(['approve', 'deny'])
})

it('does not count the card as read because it was printed while a reason was typed', () => {
  const { pages } = pagesOn(19)
  pages.open(long)
  const asking = { ...long, controls: [{ id: 'back', label: 'Back', role: 'more' as const }], asks: 'Why?' }
  pages.redraw()
  expect(pages.open(asking).lines).toHaveLength(22)
  expect(controlIds(pages.open(long).card)).toContain('more')
})

it('must be read again after its content changed', () => {
  const { pages } = pagesOn(19)
  pages.open(long)
  pages.turn()
  expect(controlIds(pages.open(long).card)).toContain('approve')
  const other = { ...long, parts: [{ as: 'code' as const, text: 'x\n'.repeat(40).replaceAll('x', 'rm') }] }
  pages.redraw()
  expect(controlIds(pages.open(other).card)).toContain('more')
})

it('begins with the first page again when the width changes', () => {
  const { pages, output } = pagesOn(19)
  pages.open(long)
  pages.turn()
  output.columns = 40
  const { lines, card } = pages.open(long)
  expect(lines[0]).toContain('Approve Bash?')
  expect(controlIds(card)).toContain('more')
})

it('prints a whole question, and the whole of any card without a screen', () => {
  const question = { ...long, controls: [{ id: 'o0', label: 'A', role: 'option' as const }] }
  expect(pagesOn(19).pages.open(question).lines).toHaveLength(22)
  expect(controlIds(pagesOn(undefined).pages.open(long).card)).toEqual(['approve', 'deny'])
})
