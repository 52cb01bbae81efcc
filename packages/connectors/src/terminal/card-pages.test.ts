import type { Card, Control } from '@askback/core'
import { fakeClock } from '@askback/core/testing'
import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { CardPages } from './card-pages.js'

const approve: Control = { id: 'approve', label: 'Approve', role: 'approve' }
const deny: Control = { id: 'deny', label: 'Deny', role: 'deny' }
const long: Card = {
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

function screen(rows: number | undefined) {
  const output = Object.assign(new PassThrough(), { rows, columns: 80 })
  return { output, pages: new CardPages(output, fakeClock()) }
}

const ids = (card: Card | null) => card?.controls.map(({ id }) => id)

it('offers to approve after the last page only', () => {
  const { pages } = screen(19)
  const first = pages.open(long)
  expect(first.lines).toHaveLength(12)
  expect(ids(first.card)).toEqual(['more', 'deny'])
  pages.turn()
  const last = pages.open(long)
  expect([...first.lines, ...last.lines].filter((line) => line.includes('line '))).toHaveLength(20)
  expect(ids(last.card)).toEqual(['approve', 'deny'])
})

it('draws the page again after something else was printed, and all of it once all was read', () => {
  const { pages } = screen(19)
  const { lines } = pages.open(long)
  expect(pages.open(long).lines).toEqual([])
  pages.redraw()
  expect(pages.open(long).lines).toEqual(lines)
  pages.turn()
  pages.open(long)
  pages.redraw()
  const again = pages.open(long)
  expect(again.lines).toHaveLength(22)
  expect(ids(again.card)).toEqual(['approve', 'deny'])
})

it('does not count as read what was drawn while a reason was typed', () => {
  const { pages } = screen(19)
  pages.open(long)
  const asking = { ...long, controls: [{ id: 'back', label: 'Back', role: 'more' as const }], asks: 'Why?' }
  pages.redraw()
  expect(pages.open(asking).lines).toHaveLength(22)
  expect(ids(pages.open(long).card)).toContain('more')
})

it('has other content read anew', () => {
  const { pages } = screen(19)
  pages.open(long)
  pages.turn()
  expect(ids(pages.open(long).card)).toContain('approve')
  const other = { ...long, parts: [{ as: 'code' as const, text: 'x\n'.repeat(40).replaceAll('x', 'rm') }] }
  pages.redraw()
  expect(ids(pages.open(other).card)).toContain('more')
})

it('begins anew where the lines have another width', () => {
  const { pages, output } = screen(19)
  pages.open(long)
  pages.turn()
  output.columns = 40
  const { lines, card } = pages.open(long)
  expect(lines[0]).toContain('Approve Bash?')
  expect(ids(card)).toContain('more')
})

it('shows a question whole, and everything where there is no screen', () => {
  const question = { ...long, controls: [{ id: 'o0', label: 'A', role: 'option' as const }] }
  expect(screen(19).pages.open(question).lines).toHaveLength(22)
  expect(ids(screen(undefined).pages.open(long).card)).toEqual(['approve', 'deny'])
})
