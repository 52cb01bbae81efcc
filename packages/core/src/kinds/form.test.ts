import type { FormField, FormValues, Json } from '@askback/protocol'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formKind } from './form.js'

function settle(fields: FormField[], values: FormValues) {
  return formKind.settle!({ message: '', schema: { fields } }, { values })
}

const text: FormField = { name: 'a', type: 'text' }
const options = [{ value: 'x' }, { value: 'y' }, { value: 'z' }]
const answered = (values: FormValues) => ({ settlement: 'answered', answer: { values } })

describe('settling a form', () => {
  it('settles answered with what was given', () => {
    const fields: FormField[] = [
      text,
      { name: 'n', type: 'number' },
      { name: 'm', type: 'multiselect', options },
    ]
    expect(settle(fields, { a: 'hello', n: 3, m: ['x', 'z'] })).toEqual(
      answered({ a: 'hello', n: 3, m: ['x', 'z'] }),
    )
  })

  it('null counts as empty', () => {
    expect(settle([text, { name: 'n', type: 'number' }], { a: null, n: null })).toEqual(answered({}))
    expect(settle([{ ...text, required: true }], { a: null })).toEqual({ errors: { a: 'Required.' } })
  })

  it('the empty text of a date control counts as empty', () => {
    expect(settle([{ name: 'd', type: 'date' }], { d: '' })).toEqual(answered({}))
    expect(settle([{ name: 'd', type: 'date', required: true }], { d: '' })).toEqual({
      errors: { d: 'Required.' },
    })
  })

  it('[L6] reports every invalid field at once', () => {
    const fields: FormField[] = [
      { ...text, required: true },
      { name: 'n', type: 'number', min: 1 },
      { name: 'b', type: 'boolean' },
    ]
    expect(settle(fields, { n: 0, b: false })).toEqual({
      errors: { a: 'Required.', n: 'Must be at least 1.' },
    })
  })

  it('[L9] rejects a name that the form does not have', () => {
    for (const name of ['b', 'toString', 'constructor']) {
      expect(() => settle([text], { a: 'x', [name]: 'y' })).toThrow(
        expect.objectContaining({ code: 'invalid_answer', details: { field: name } }),
      )
    }
  })

  it.each<[FormField, Json]>([
    [text, 1],
    [{ name: 'a', type: 'textarea' }, ['x']],
    [{ name: 'a', type: 'number' }, '1'],
    [{ name: 'a', type: 'boolean' }, 'true'],
    [{ name: 'a', type: 'checkbox' }, 1],
    [{ name: 'a', type: 'date' }, 20260228],
    [{ name: 'a', type: 'time' }, false],
    [{ name: 'a', type: 'datetime' }, {}],
    [{ name: 'a', type: 'select', options }, 1],
    [{ name: 'a', type: 'select', options: [{ value: 1 }] }, '1'],
    [{ name: 'a', type: 'radio', options: [{ value: true }] }, 'true'],
    [{ name: 'a', type: 'multiselect', options }, 'x'],
    [{ name: 'a', type: 'multiselect', options }, ['x', 1]],
    [{ name: 'a', type: 'multiselect', options }, [null]],
  ])('[L9] rejects the wrong JSON type instead of asking again: %j given %j', (field, value) => {
    expect(() => settle([field], { a: value })).toThrow(
      expect.objectContaining({
        code: 'invalid_answer',
        message: expect.stringContaining('"a" takes a') as string,
        details: { field: 'a' },
      }),
    )
  })
})

describe('values that are valid and values that are asked for again', () => {
  type FieldCase = [field: Omit<FormField, 'name'>, value: Json | undefined, error: string | null]
  it.each<FieldCase>([
    [{ type: 'text' }, undefined, null],
    [{ type: 'text' }, '', null],
    [{ type: 'text', required: true }, '', 'Required.'],
    [{ type: 'text', required: true }, ' \n', 'Required.'],
    [{ type: 'text', minLength: 2 }, '', null],
    [{ type: 'text', minLength: 2 }, 'x', 'Must have at least 2 characters.'],
    [{ type: 'text', minLength: 2 }, '👍👍', null],
    [{ type: 'text', maxLength: 1 }, '👍', null],
    [{ type: 'text', maxLength: 1 }, '👍👍', 'Must have at most 1 character.'],
    [{ type: 'text', pattern: '[a-z]+' }, 'abc', null],
    [{ type: 'text', pattern: '[a-z]+' }, 'abc1', 'Does not match the required format.'],
    [{ type: 'text', pattern: 'a|bc' }, 'abc', 'Does not match the required format.'],
    [{ type: 'text', pattern: '^a$' }, 'a', null],
    [{ type: 'text', pattern: '(a+)+b' }, 'a'.repeat(5_000), 'Does not match the required format.'],
    [{ type: 'text', pattern: 'a*' }, 'a'.repeat(5001), 'Too long for the required format.'],
    [{ type: 'textarea', minLength: 3 }, 'a\nb', null],
    [{ type: 'number', required: true }, undefined, 'Required.'],
    [{ type: 'number', required: true }, 0, null],
    [{ type: 'number', min: 1, max: 3 }, 1, null],
    [{ type: 'number', min: 1, max: 3 }, 3.5, 'Must be at most 3.'],
    [{ type: 'number', step: 1 }, 2, null],
    [{ type: 'number', step: 1 }, 2.5, 'Must be a whole number.'],
    [{ type: 'number', step: 0.1 }, 0.3, null],
    [{ type: 'number', step: 0.1 }, 0.35, 'Must be 0 plus a multiple of 0.1.'],
    [{ type: 'number', min: 1, step: 2 }, 4, 'Must be 1 plus a multiple of 2.'],
    [{ type: 'number', min: -1, step: 2 }, -1, null],
    [{ type: 'number', step: 1e-7 }, 3e-7, null],
    [{ type: 'number', step: 1e21 }, 2e21, null],
    [{ type: 'number', step: 1e-7 }, 1e21, null],
    [{ type: 'boolean', required: true }, undefined, 'Required.'],
    [{ type: 'boolean', required: true }, false, null],
    [{ type: 'checkbox', required: true }, undefined, 'Required.'],
    [{ type: 'checkbox', required: true }, false, 'Must be ticked.'],
    [{ type: 'checkbox', required: true }, true, null],
    [{ type: 'checkbox' }, false, null],
    [{ type: 'select', options }, 'y', null],
    [{ type: 'select', options }, 'w', 'Not one of the options.'],
    [{ type: 'radio', options: [{ value: 1 }, { value: 2 }] }, 2, null],
    [{ type: 'radio', options: [{ value: 1 }, { value: 2 }] }, 3, 'Not one of the options.'],
    [{ type: 'multiselect', options }, [], null],
    [{ type: 'multiselect', options, required: true }, [], 'Required.'],
    [{ type: 'multiselect', options }, ['x', 'w'], 'Contains a value that is not one of the options.'],
    [{ type: 'multiselect', options }, ['x', 'x'], 'Contains an option twice.'],
    [{ type: 'multiselect', options, min: 2 }, ['x'], 'Choose at least 2.'],
    [{ type: 'multiselect', options, max: 2 }, ['x', 'y', 'z'], 'Choose at most 2.'],
    [{ type: 'date', min: '2026-02-01' }, '2026-02-01', null],
    [{ type: 'date', min: '2026-02-01' }, '2026-01-31', 'Must not be before 2026-02-01.'],
    [{ type: 'time', max: '17:00' }, '17:00:00.001', 'Must not be after 17:00.'],
    [{ type: 'datetime', max: '2026-01-01T00:00:00Z' }, '2026-01-01T01:00:00+01:00', null],
    [
      { type: 'datetime', max: '2026-01-01T00:00:00Z' },
      '2026-01-01T00:30:00-01:00',
      'Must not be after 2026-01-01T00:00:00Z.',
    ],
  ])('%j given %j: %s', (field, value, error) => {
    const outcome = settle([{ name: 'a', ...field }], value === undefined ? {} : { a: value })
    if (error === null) expect(outcome).toEqual(answered(value === undefined ? {} : { a: value }))
    else expect(outcome).toEqual({ errors: { a: error } })
  })

  it.each<[FormField['type'], string, boolean]>([
    ['date', '2026-02-28', true],
    ['date', '2024-02-29', true],
    ['date', '2026-02-29', false],
    ['date', '2026-02-30', false],
    ['date', '2026-04-31', false],
    ['date', '2026-13-01', false],
    ['date', '2026-00-10', false],
    ['date', '0000-01-01', false],
    ['date', '2026-2-8', false],
    ['date', '28.02.2026', false],
    ['date', '2026-02-28T00:00', false],
    ['time', '00:00', true],
    ['time', '23:59:59', true],
    ['time', '09:30:00.250', true],
    ['time', '24:00', false],
    ['time', '9:30', false],
    ['time', '12:60', false],
    ['time', '12:00:60', false],
    ['datetime', '2026-02-28T09:30', true],
    ['datetime', '2026-02-28T09:30:15.5', true],
    ['datetime', '2026-02-28T09:30:15Z', true],
    ['datetime', '2026-02-28T09:30:15+05:30', true],
    ['datetime', '2026-02-30T09:30', false],
    ['datetime', '2026-02-28 09:30', false],
    ['datetime', '2026-02-28T25:30', false],
    ['datetime', '2026-02-28T09:30+24:00', false],
    ['datetime', '2026-02-28', false],
  ])('%s %s is real: %s', (type, value, real) => {
    expect('errors' in settle([{ name: 'a', type }], { a: value })).toBe(!real)
  })
})

describe('hidden fields', () => {
  const fields: FormField[] = [
    { name: 'kind', type: 'select', options: [{ value: 'db' }, { value: 'file' }] },
    { name: 'host', type: 'text', required: true, visibleWhen: { field: 'kind', equals: 'db' } },
    { name: 'tls', type: 'checkbox', visibleWhen: { field: 'host', in: ['a', 'b'] } },
    { name: 'why', type: 'text', required: true, visibleWhen: { field: 'tls', equals: false } },
  ]

  it('are neither validated nor part of the answer', () => {
    expect(settle(fields, { kind: 'file', host: '', why: 'x' })).toEqual(answered({ kind: 'file' }))
  })

  it('hide the fields that depend on them, whatever value was sent for them', () => {
    expect(settle(fields, { kind: 'file', host: 'a', tls: false, why: 'x' })).toEqual(
      answered({ kind: 'file' }),
    )
  })

  it('are required once they are visible', () => {
    expect(settle(fields, { kind: 'db' })).toEqual({ errors: { host: 'Required.' } })
    expect(settle(fields, { kind: 'db', host: 'a' })).toEqual({ errors: { why: 'Required.' } })
    expect(settle(fields, { kind: 'db', host: 'a', tls: true })).toEqual(
      answered({ kind: 'db', host: 'a', tls: true }),
    )
    expect(settle(fields, { kind: 'db', host: 'c' })).toEqual(answered({ kind: 'db', host: 'c' }))
  })

  it('may have a value of any JSON type while hidden, and [L9] only their own once they are visible', () => {
    expect(settle(fields, { kind: 'file', host: 1 })).toEqual(answered({ kind: 'file' }))
    expect(() => settle(fields, { kind: 'db', host: 1 })).toThrow(
      expect.objectContaining({ code: 'invalid_answer', details: { field: 'host' } }),
    )
  })

  it('may depend on one of several choices, or on an empty field', () => {
    const more: FormField[] = [
      { name: 'm', type: 'multiselect', options },
      { name: 'x', type: 'text', visibleWhen: { field: 'm', equals: 'x' } },
      { name: 'none', type: 'text', visibleWhen: { field: 'm', equals: null } },
    ]
    expect(settle(more, { m: ['y', 'x'], x: '1', none: '2' })).toEqual(answered({ m: ['y', 'x'], x: '1' }))
    expect(settle(more, { x: '1', none: '2' })).toEqual(answered({ none: '2' }))
  })
})

it('any values answer the form with its own fields, are asked for again, or are rejected', () => {
  const fields: FormField[] = [
    { name: 'a', type: 'text', required: true, minLength: 2 },
    { name: 'n', type: 'number', step: 0.5, visibleWhen: { field: 'a', in: ['aa', 'bb'] } },
    { name: 'd', type: 'datetime' },
    { name: 'm', type: 'multiselect', options },
  ]
  const value = fc.oneof(
    fc.jsonValue(),
    fc.string(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
    fc.subarray(['x', 'y', 'z', 'w']),
    fc.constantFrom('aa', 'bb'),
  )
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom('a', 'n', 'd', 'm'), value), (values) => {
      let outcome
      try {
        outcome = settle(fields, values as FormValues)
      } catch (error) {
        expect(error).toMatchObject({ code: 'invalid_answer' })
        return
      }
      if ('errors' in outcome) {
        expect(Object.keys(outcome.errors).length).toBeGreaterThan(0)
        return
      }
      const { values: accepted } = outcome.answer as { values: FormValues }
      expect(settle(fields, accepted)).toEqual(outcome)
      for (const [name, each] of Object.entries(accepted)) expect(each).toBe((values as FormValues)[name])
    }),
    { numRuns: 500 },
  )
})
