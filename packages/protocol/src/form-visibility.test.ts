import { expect, it } from 'vitest'
import { visibleFields } from './form-visibility.js'
import type { FormField } from './form.js'

const shown = (fields: FormField[], values = {}) =>
  visibleFields(fields, new Map(Object.entries(values))).map(({ name }) => name)

it('shows what depends on a field as long as that is shown and its value fits', () => {
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

it('hides what depends on each other in a circle, which no desk lets through', () => {
  const fields: FormField[] = [
    { name: 'a', type: 'checkbox', visibleWhen: { field: 'b', equals: true } },
    { name: 'b', type: 'checkbox', visibleWhen: { field: 'a', equals: true } },
    { name: 'c', type: 'text' },
  ]
  expect(shown(fields, { a: true, b: true })).toEqual(['c'])
})
