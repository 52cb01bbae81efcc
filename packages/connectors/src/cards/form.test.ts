import { describe, expect, it } from 'vitest'
import { EMPTY_VIEW, type CardAction, type CardInput } from './card.js'
import { bodyOf, handleInput, stepOf } from './cards.js'
import { answered, interaction, refused, tap, text } from './test-interaction.test.helper.js'

describe('a form', () => {
  const fields = [
    { name: 'tls', type: 'boolean', required: true },
    { name: 'cert', type: 'text', required: true, visibleWhen: { field: 'tls', equals: true } },
    { name: 'days', type: 'multiselect', options: [{ value: 1, label: 'Mon' }, { value: 2 }] },
  ]
  const form = interaction('form', { message: 'How?', schema: { fields }, initialValues: { cert: 'x.pem' } })

  function enter(...inputs: CardInput[]): CardAction {
    let view = EMPTY_VIEW
    let step: CardAction = { do: 'refuse', message: '' }
    for (const input of inputs) {
      step = handleInput(form, view, input)
      if (step.do === 'show') view = step.view
    }
    return step
  }

  it.each<[string, CardInput[], object]>([
    [
      'asks a field that depends on an earlier value',
      [tap('o0'), tap('keep'), tap('skip')],
      answered({ values: { tls: true, cert: 'x.pem' } }),
    ],
    ['skips a field that is not visible', [tap('o1'), tap('skip')], answered({ values: { tls: false } })],
    [
      'takes several choices',
      [tap('o1'), tap('o0'), tap('o1'), tap('done')],
      answered({ values: { tls: false, days: [1, 2] } }),
    ],
    [
      'takes the name of a choice as a text',
      [text('yes'), text('y.pem'), text('mon')],
      answered({ values: { tls: true, cert: 'y.pem', days: [1] } }),
    ],
    ['does not leave out a required field', [tap('skip')], refused],
  ])('%s', (_name, inputs, expected) => {
    expect(enter(...inputs)).toMatchObject(expected)
  })

  it.each(['1,000', '12,345', '1,5'])(
    'refuses a number with a comma, whose meaning depends on the language: %s',
    (words) => {
      const port = interaction('form', {
        message: '?',
        schema: { fields: [{ name: 'port', type: 'number' }] },
      })
      const message = 'Write the number without commas: 1000 or 1.5.'
      expect(handleInput(port, EMPTY_VIEW, text(words))).toEqual({ do: 'refuse', message })
      expect(handleInput(port, EMPTY_VIEW, text(' 1.5 '))).toEqual(answered({ values: { port: 1.5 } }))
    },
  )

  it('adds a text to what is selected', () => {
    const options = [{ value: 'a' }, { value: 'b' }, { value: 'c' }]
    const tags = interaction('form', {
      message: '?',
      schema: { fields: [{ name: 'tags', type: 'multiselect', options }] },
    })
    const ticked = handleInput(tags, EMPTY_VIEW, tap('o1'))
    const view = ticked.do === 'show' ? ticked.view : EMPTY_VIEW
    expect(handleInput(tags, view, text('c'))).toEqual(answered({ values: { tags: ['b', 'c'] } }))
    expect(handleInput(tags, view, text('3, a'))).toEqual(answered({ values: { tags: ['a', 'b', 'c'] } }))
    expect(handleInput(tags, view, text('c, d'))).toMatchObject(refused)
  })

  it('shows the values of options that have the same label', () => {
    const options = [
      { value: 1, label: 'Mon' },
      { value: 2, label: 'Mon' },
      { value: 3, label: 'Tue' },
    ]
    const days = interaction('form', {
      message: '?',
      schema: { fields: [{ name: 'days', type: 'multiselect', options }] },
    })
    const ticked = handleInput(days, EMPTY_VIEW, tap('o1'))
    const view = ticked.do === 'show' ? ticked.view : EMPTY_VIEW
    const { controls } = bodyOf(days, view)
    expect(controls.slice(0, 4).map(({ label, checked }) => [label, checked])).toEqual([
      ['Mon (1)', false],
      ['Mon (2)', true],
      ['Tue', false],
      ['Done (1)', undefined],
    ])
    expect(handleInput(days, view, tap('done'))).toEqual(answered({ values: { days: [2] } }))
    expect(handleInput(days, view, text('mon'))).toMatchObject(refused)
  })

  it('offers to keep the initial value and shows all of it', () => {
    const fields = [
      { name: 'a', type: 'text' },
      { name: 'b', type: 'text' },
    ]
    const long = `${'🐘'.repeat(30)} and more`
    const withInitial = interaction('form', {
      message: '?',
      schema: { fields },
      initialValues: { a: long, b: null },
    })
    const { controls, parts } = bodyOf(withInitial, EMPTY_VIEW)
    expect(controls[0]).toMatchObject({ id: 'keep', label: `Keep: ${'🐘'.repeat(20)}…` })
    expect(parts.at(-1)).toEqual({ as: 'quote', label: 'What can be kept', text: long })
    const next = handleInput(withInitial, EMPTY_VIEW, tap('keep'))
    expect(next.do === 'show' && bodyOf(withInitial, next.view).controls.map(({ id }) => id)).toEqual([
      'skip',
    ])
  })

  it('counts the fields that have a value', () => {
    const after = enter(tap('o0'))
    expect(after.do === 'show' && stepOf(form, after.view)).toBe(1)
  })
})
