import * as fc from 'fast-check'
import { stripVTControlCharacters } from 'node:util'
import { expect, it } from 'vitest'
import type { CardControl, TextCard } from '../cards/card.js'
import { wrapText } from './drawing.js'
import { drawControls, type Screen } from './drawing-controls.js'

function drawn(labels: string[], at: number, screen: Screen, asks: string | null = null): string[] {
  const controls = labels.map((label, index): CardControl => ({
    id: `o${index}`,
    label,
    role: 'option',
    checked: false,
  }))
  const card: TextCard = {
    cardId: 'c',
    sessionId: 's',
    interactionId: 'i',
    kind: 'question',
    from: '',
    title: '',
    parts: [],
    controls,
    asks,
  }
  return stripVTControlCharacters(drawControls(card, { at, openCards: 2, hasAgent: true, screen })).split(
    '\n',
  )
}

it('shows all controls if they fit', () => {
  expect(drawn(['A', 'B'], 0, { rows: 30, columns: 100 })).toEqual(
    [
      '❯ 1 [ ] A',
      '  2 [ ] B',
      '↑↓ Enter or a number · Space ticks, Enter is done · t answer with a text · Tab next of 2 · ? help · Ctrl-C leaves',
    ].flatMap((line) => wrapText(line, 100)),
  )
})

it('shows the controls around the marked one in a small window', () => {
  const labels = Array.from({ length: 9 }, (_, n) => `Choice ${n + 1}`)
  expect(drawn(labels, 7, { rows: 6, columns: 24 })).toEqual([
    '↑ 6 more',
    '  7 [ ] Choice 7',
    '❯ 8 [ ] Choice 8',
    '  9 [ ] Choice 9',
  ])
})

it('never draws more rows than fit, and always the marked control', () => {
  const label = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 60 }),
    fc.constant('日本語 word '.repeat(9)),
  )
  const screen = fc.record({
    rows: fc.integer({ min: 4, max: 40 }),
    columns: fc.integer({ min: 10, max: 120 }),
  })
  fc.assert(
    fc.property(fc.array(label, { minLength: 1, maxLength: 30 }), fc.nat(), screen, (labels, seed, size) => {
      const at = (seed % (labels.length + 1)) - 1
      const lines = drawn(
        labels.map((each) => each.replaceAll(/\s/g, ' ')),
        at,
        size,
        'Choose.',
      )
      expect(lines.length).toBeLessThan(size.rows)
      if (at >= 0) expect(lines.some((line) => line.startsWith(`❯ ${at + 1}`))).toBe(true)
    }),
  )
})
