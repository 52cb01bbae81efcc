import { fieldsOf, formRequest } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { formKind } from './form.js'
import { parseWith } from './kinds.js'

const text = { name: 'a', type: 'text' }
const flag = { name: 'flag', type: 'boolean' }
const choice = { name: 'c', type: 'select', options: [{ value: 'x' }, { value: 'y' }] }

/** Does what the desk does when an interaction opens. */
function open(schema: unknown, initialValues?: unknown) {
  const raw = { message: 'Tell me', schema, ...(initialValues !== undefined && { initialValues }) }
  const request = parseWith(formRequest, raw, { code: 'invalid_request', what: 'the request' })
  formKind.checkRequest!(request)
  return request
}

function rejection(message: string) {
  return expect.objectContaining({
    code: 'invalid_request',
    message: expect.stringContaining(message) as string,
  }) as Error
}

describe('a form that can be asked', () => {
  it.each<[string, object]>([
    ['a text with rules', { ...text, required: true, minLength: 1, maxLength: 9, pattern: '[a-z]+' }],
    ['a number with rules', { name: 'n', type: 'number', min: 0, max: 1, step: 0.1 }],
    [
      'options of other JSON types',
      { ...choice, options: [{ value: 1, label: 'One' }, { value: true }, { value: '1' }] },
    ],
    ['how many may be chosen', { ...choice, type: 'multiselect', min: 1, max: 2 }],
    ['dates with bounds', { name: 'd', type: 'date', min: '2026-01-01', max: '2026-12-31' }],
    ['times with bounds', { name: 't', type: 'time', min: '09:00', max: '17:00:30' }],
    [
      'datetimes with bounds',
      { name: 'd', type: 'datetime', min: '2026-01-01T00:00', max: '2026-01-01T00:00:00.5Z' },
    ],
    ['marks that it is not a secret', { ...text, secret: false, writeOnly: false, format: 'email' }],
    ['properties of a later version', { ...text, placeholder: 'x' }],
    ['escapes as JavaScript writes them', { ...text, pattern: '(?<year>\\d{4})\\/\\u0041' }],
  ])('has %s', (_, field) => {
    expect(fieldsOf(open({ fields: [field] }).schema)).toHaveLength(1)
  })

  it('has sections, whose fields share their names', () => {
    const request = open({ sections: [{ title: 'One', fields: [text] }, { fields: [flag] }] })
    expect(fieldsOf(request.schema).map((field) => field.name)).toEqual(['a', 'flag'])
    expect(() => open({ sections: [{ fields: [text] }, { fields: [text] }] })).toThrow(
      rejection('"a" is defined twice'),
    )
  })

  it('may show a field depending on a later one, and on whether that one is empty', () => {
    expect(() =>
      open({ fields: [{ ...text, visibleWhen: { field: 'flag', in: [true, null] } }, flag] }),
    ).not.toThrow()
  })
})

describe('a form that cannot be asked', () => {
  it.each<[string, unknown, string]>([
    ['neither fields nor sections', {}, 'either `fields` or `sections`'],
    ['both', { fields: [text], sections: [{ fields: [flag] }] }, 'either `fields` or `sections`'],
    ['no fields', { fields: [] }, 'at least one field'],
    ['sections without fields', { sections: [{ fields: [] }] }, 'at least one field'],
    ['a type of its own', { fields: [{ name: 'a', type: 'color' }] }, 'schema.fields[0].type'],
    ['a field without a name', { fields: [{ name: '', type: 'text' }] }, 'schema.fields[0].name'],
    ['a step of nothing', { fields: [{ name: 'n', type: 'number', step: 0 }] }, 'schema.fields[0].step'],
    [
      'too many fields',
      { fields: Array.from({ length: 501 }, (_, i) => ({ name: `f${i}`, type: 'text' })) },
      '500',
    ],
  ])('has %s', (_, schema, message) => {
    expect(() => open(schema)).toThrow(rejection(message))
  })

  it.each<[object]>([
    [{ secret: true }],
    [{ secret: 'yes' }],
    [{ writeOnly: true }],
    [{ format: 'password' }],
    [{ type: 'password' }],
    [{ type: 'number', secret: true }],
  ])('asks for a secret: %j', (mark) => {
    expect(() => open({ fields: [flag, { ...text, ...mark }] })).toThrow(rejection('URL'))
    expect(() => open({ sections: [{ fields: [{ ...text, ...mark }] }] })).toThrow(rejection('URL'))
  })

  it.each(['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty'])(
    'names a field %s',
    (name) => {
      expect(() => open({ fields: [{ name, type: 'text' }] })).toThrow(rejection('prototype key'))
    },
  )

  it.each<[object, string]>([
    [{ ...text, min: 1 }, 'takes no `min`'],
    [{ ...text, options: [] }, 'takes no `options`'],
    [{ ...flag, pattern: 'x' }, 'takes no `pattern`'],
    [{ name: 'n', type: 'number', maxLength: 3 }, 'takes no `maxLength`'],
    [{ name: 'n', type: 'number', min: '1' }, 'needs a number as its `min`'],
    [{ name: 'n', type: 'number', min: 2, max: 1 }, '`min` above its `max`'],
    [{ ...text, minLength: 2, maxLength: 1 }, '`minLength` above its `maxLength`'],
    [{ name: 'd', type: 'date', min: 3 }, 'needs a date as its `min`'],
    [{ name: 'd', type: 'date', max: '2026-02-30' }, 'needs a date as its `max`'],
    [{ name: 't', type: 'time', min: '10:00', max: '09:00' }, '`min` above its `max`'],
    [{ name: 'c', type: 'select' }, 'needs `options`'],
    [{ name: 'c', type: 'radio', options: [] }, 'needs `options`'],
    [{ ...choice, options: [{ value: 1 }, { value: 1 }] }, 'two options of the same value'],
    [{ ...choice, type: 'multiselect', min: 3 }, 'above the number of its options'],
    [{ ...choice, type: 'multiselect', max: 0.5 }, 'whole number of choices'],
    [{ ...choice, type: 'multiselect', min: -1 }, 'whole number of choices'],
    [{ ...text, pattern: '[' }, 'missing closing ]'],
    [{ ...text, pattern: '(?=a)a' }, 'linear time'],
    [{ ...text, pattern: '(a)\\1' }, 'linear time'],
    [{ ...text, pattern: 'a'.repeat(1001) }, 'longer than 1000'],
    [{ ...text, pattern: '.{1000}.{1000}' }, 'repeats too much'],
  ])('%j', (field, message) => {
    expect(() => open({ fields: [field] })).toThrow(rejection(message))
  })

  it('has patterns that are too costly together', () => {
    const fields = Array.from({ length: 12 }, (_, i) => ({ name: `f${i}`, type: 'text', pattern: '.{120}' }))
    expect(() => open({ fields: fields.slice(0, 4) })).not.toThrow()
    expect(() => open({ fields })).toThrow(rejection('too costly together'))
  })

  it.each<[string, object[], string]>([
    ['an unknown field', [{ ...text, visibleWhen: { field: 'z', equals: 1 } }], '"z", which is no field'],
    ['itself', [{ ...text, visibleWhen: { field: 'a', equals: 'x' } }], 'depending on itself'],
    [
      'itself by way of another',
      [
        { ...text, visibleWhen: { field: 'flag', equals: true } },
        { ...flag, visibleWhen: { field: 'a', equals: 'x' } },
      ],
      'depending on itself',
    ],
    [
      'a value of another type',
      [{ ...text, visibleWhen: { field: 'flag', equals: 'true' } }, flag],
      'takes a boolean',
    ],
    ['no value', [{ ...text, visibleWhen: { field: 'flag' } }, flag], 'either `equals` or `in`'],
    ['no values', [{ ...text, visibleWhen: { field: 'flag', in: [] } }, flag], 'must not be empty'],
  ])('shows a field depending on %s', (_, fields, message) => {
    expect(() => open({ fields })).toThrow(rejection(message))
  })

  it('has initial values for unknown fields, or of another type', () => {
    expect(() => open({ fields: [text, choice] }, { a: 'hello', c: 'x', b: 1 })).toThrow(
      rejection('"b" has an initial value'),
    )
    expect(() => open({ fields: [text] }, { a: 1 })).toThrow(rejection('not a string'))
  })

  it.each([
    ['select', 'z'],
    ['radio', 'z'],
    ['multiselect', ['x', 'z']],
  ])('fills in a %s with what is no option, which nobody could see or take back', (type, value) => {
    expect(() => open({ fields: [{ ...choice, type }] }, { c: value })).toThrow(
      rejection('"c" has an initial value that is not one of its options'),
    )
  })

  it('may have initial values that a person can still correct', () => {
    const fields = [{ ...text, minLength: 9 }, choice, { ...choice, name: 'm', type: 'multiselect', max: 1 }]
    expect(() => open({ fields }, { a: 'short', c: null, m: ['x', 'y'] })).not.toThrow()
    expect(() => open({ fields }, { a: null, c: 'y', m: [] })).not.toThrow()
  })
})
