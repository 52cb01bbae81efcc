import { describe, expect, it } from 'vitest'
import { singleTextField, visibleFields, type FormField } from './form.js'

describe('visible fields', () => {
  const shown = (fields: FormField[], values = {}) =>
    visibleFields(fields, new Map(Object.entries(values))).map(({ name }) => name)

  it('include a field that depends on another while that is visible and its value fits', () => {
    const fields: FormField[] = [
      { name: 'c', type: 'text', visibleWhen: { field: 'b', equals: 2 } },
      { name: 'a', type: 'text' },
      { name: 'b', type: 'number', visibleWhen: { field: 'a', in: ['x', 'y'] } },
    ]
    expect(shown(fields)).toEqual(['a'])
    expect(shown(fields, { a: 'y' })).toEqual(['a', 'b'])
    expect(shown(fields, { a: 'y', b: 2 })).toEqual(['c', 'a', 'b'])
    expect(shown(fields, { a: 'z', b: 2 })).toEqual(['a'])
  })

  it('include none of a circle of fields that depend on each other, though no desk accepts such a form', () => {
    const fields: FormField[] = [
      { name: 'a', type: 'checkbox', visibleWhen: { field: 'b', equals: true } },
      { name: 'b', type: 'checkbox', visibleWhen: { field: 'a', equals: true } },
      { name: 'c', type: 'text' },
    ]
    expect(shown(fields, { a: true, b: true })).toEqual(['c'])
  })
})

describe('the single text field of a form', () => {
  it.each<[FormField[], string | undefined]>([
    [[{ name: 'a', type: 'text' }], 'a'],
    [[{ name: 'a', type: 'textarea' }], 'a'],
    [[{ name: 'a', type: 'number' }], undefined],
    [
      [
        { name: 'a', type: 'text' },
        { name: 'b', type: 'boolean' },
      ],
      undefined,
    ],
  ])('of %j is %s, with or without sections', (fields, name) => {
    expect(singleTextField({ message: '', schema: { fields } })?.name).toBe(name)
    const sections = [{ fields: [] }, { fields }]
    expect(singleTextField({ message: '', schema: { sections } })?.name).toBe(name)
  })
})
