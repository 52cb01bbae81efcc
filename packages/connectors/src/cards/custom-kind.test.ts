import type { Json, KindPrompt } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { EMPTY_VIEW, type CardInput, type CardInteraction } from './card.js'
import { answerText, bodyOf, handleInput, outcomeText, stepOf } from './cards.js'
import { answered, interaction, refused, tap, text } from './test-interaction.test.helper.js'

const prompt: KindPrompt = {
  title: 'When does it suit you?',
  fields: [
    { name: 'slot', type: 'radio', required: true, options: [{ value: 'Mon' }, { value: 'Tue' }] },
    { name: 'more', type: 'textarea', required: false },
  ],
  initialValues: {},
  nullable: [],
  json: ['more'],
  single: false,
}
const request = { purpose: 'Release\u202e 1.2', slots: ['Mon', 'Tue'] }
const timeSlot: CardInteraction = { ...interaction('time_slot', request), prompt: { prompt } }

/** What the last of these inputs does. */
function enter(target: CardInteraction, ...inputs: CardInput[]) {
  let view = EMPTY_VIEW
  let last = handleInput(target, view, inputs[0]!)
  for (const input of inputs.slice(1)) {
    if (last.do === 'show') view = last.view
    last = handleInput(target, view, input)
  }
  return last
}

describe('a custom kind', () => {
  it('shows the whole request with hidden characters spelled out, and asks for the first field', () => {
    const { title, parts, controls } = bodyOf(timeSlot, EMPTY_VIEW)
    expect(title).toBe('When does it suit you?: slot (1 of 2)')
    expect(parts).toEqual([
      { as: 'quote', label: 'purpose', text: expect.stringContaining('U+202E') as string },
      { as: 'code', label: 'slots', text: JSON.stringify(request.slots, null, 2) },
    ])
    expect(controls.map(({ label }) => label)).toEqual(['Mon', 'Tue'])
  })

  it('shows a title with signs that a replacement would read', () => {
    const costs: CardInteraction = { ...timeSlot, prompt: { prompt: { ...prompt, title: "$& or $'?" } } }
    expect(bodyOf(costs, EMPTY_VIEW).title).toBe("$& or $'?: slot (1 of 2)")
  })

  it.each<[string, Json]>([
    ['a list', ['Mon', 'Tue']],
    ['a text', 'Mon'],
    ['an empty object', {}],
  ])('shows a request that is %s', (_, given) => {
    const { parts } = bodyOf({ ...timeSlot, request: given }, EMPTY_VIEW)
    expect(parts).toEqual([{ as: 'code', text: JSON.stringify(given, null, 2) }])
  })

  it('shows names of the agent that could be read as words of Askback as code', () => {
    const given = { 'Ada has approved this. Choose Mon': 'x', purpose: 'y' }
    const { parts } = bodyOf({ ...timeSlot, request: given }, EMPTY_VIEW)
    expect(parts).toEqual([
      { as: 'code', text: '{\n  "Ada has approved this. Choose Mon": "x"\n}' },
      { as: 'quote', label: 'purpose', text: 'y' },
    ])
  })

  it('shows the text of its card in place of the request', () => {
    const withText: CardInteraction = { ...timeSlot, prompt: { prompt: { ...prompt, text: 'The release' } } }
    expect(bodyOf(withText, EMPTY_VIEW).parts).toEqual([{ as: 'quote', text: 'The release' }])
  })

  it.each<[string, CardInput[], object]>([
    ['a tap for each field', [tap('o1'), tap('skip')], answered({ slot: 'Tue' })],
    ['texts', [text('mon'), text('{ "a": 1 }')], answered({ slot: 'Mon', more: { a: 1 } })],
    ['a text that is no JSON where JSON is due', [tap('o0'), text('{ a')], refused],
    ['starting over', [tap('o0'), tap('restart'), tap('o1'), tap('skip')], answered({ slot: 'Tue' })],
  ])('is answered with %s', (_, inputs, expected) => {
    expect(enter(timeSlot, ...inputs)).toMatchObject(expected)
  })

  it('can be started over once a field has a value', () => {
    const first = handleInput(timeSlot, EMPTY_VIEW, tap('o0'))
    const view = first.do === 'show' ? first.view : EMPTY_VIEW
    expect(stepOf(timeSlot, view)).toBe(1)
    expect(bodyOf(timeSlot, view).controls.map(({ id }) => id)).toContain('restart')
    expect(answerText(timeSlot, view, 0)).toBe('Mon')
  })

  it('is answered with a single value', () => {
    const single: KindPrompt = {
      ...prompt,
      fields: [{ name: 'answer', type: 'number' }],
      json: [],
      single: true,
    }
    const count: CardInteraction = { ...interaction('count', { of: 'x' }), prompt: { prompt: single } }
    expect(handleInput(count, EMPTY_VIEW, text('4'))).toEqual(answered(4))
  })

  it('that was removed is shown with the reason, and takes nothing', () => {
    const removed: CardInteraction = { ...timeSlot, prompt: { prompt: null, reason: 'It was removed.' } }
    const { title, parts, controls, asks } = bodyOf(removed, EMPTY_VIEW)
    expect({ title, controls, asks }).toEqual({ title: 'Waiting: time_slot', controls: [], asks: null })
    expect(parts.at(-1)).toEqual({ as: 'note', text: 'It was removed.' })
    const hidden: CardInteraction = { ...timeSlot, prompt: { prompt: null, reason: 'Gone\u202e' } }
    expect(bodyOf(hidden, EMPTY_VIEW).parts.at(-1)?.text).toContain('U+202E')
    for (const input of [tap('o0'), text('mon')])
      expect(handleInput(removed, EMPTY_VIEW, input)).toEqual({ do: 'refuse', message: 'It was removed.' })
  })

  it('says what was answered', () => {
    const settled = { status: 'settled', settlement: 'answered', via: 'web' } as const
    const done = { ...timeSlot, ...settled, answer: { slot: 'Mon', more: { a: 1 } } }
    expect(outcomeText(done, EMPTY_VIEW)).toBe('Answered in the web app.\nslot: Mon\nmore: {"a":1}')
  })
})
