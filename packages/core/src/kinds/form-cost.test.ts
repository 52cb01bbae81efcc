import { fieldsOf, visibleFields, type FormField, type FormRequest, type Json } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { formKind } from './form.js'

// The limits count steps. These tests measure that so many steps take less CPU time than a loop of about 50 ms. A slow or busy
// machine slows both down.
function cpuMs(work: () => unknown): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** The best of five, so that other work of the machine does not count. */
function costOf(work: () => unknown): number {
  return Math.min(...Array.from({ length: 5 }, () => cpuMs(work)))
}

function loop(): number {
  let sum = 0
  for (let step = 0; step < 12_000_000; step++) sum = (sum + step) % 7919
  return sum
}
const maxCost = costOf(loop)

const form = (...fields: FormField[]): FormRequest => ({ message: 'Fill in', schema: { fields } })
const text = (name: string, pattern: string): FormField => ({ name, type: 'text', pattern })
const open = (request: FormRequest) => formKind.checkRequest!(request)
const answer = (request: FormRequest, values: Record<string, Json>) => formKind.settle!(request, { values })

describe('a pattern', () => {
  it.each([
    '(a?){1000}',
    '((a{0,30}){0,30})',
    '(.{0,40}){0,20}',
    '(?:a|b|c){500}',
    '[\\p{L}\\p{N}]{1,900}',
    '(?<x>(?:\\w+\\s?){1,100}){1,9}',
    '\\p{L}'.repeat(199),
    '(a|b)*a(a|b){400}',
  ])('%# is rejected at little cost', (pattern) => {
    const request = form(text('a', pattern))
    expect(() => open(request)).toThrow('repeats too much')
    expect(
      costOf(() => {
        try {
          open(request)
        } catch {
          // Rejected, as above.
        }
      }),
    ).toBeLessThan(maxCost)
  })

  it.each([
    '(a|b)*a(a|b){90}',
    '((a{0,9}){0,9})',
    '(.*)(.*)(.*)(.*)(.*)x',
    '(a+)+b',
    '(?:\\w+\\s?){1,40}',
    '[\\p{L}\\p{N} ]{1,100}',
    '(a?){40}a{40}',
  ])('%s is accepted, and costs little on any text', (pattern) => {
    const request = form(text('a', pattern))
    open(request)
    for (const characters of ['a', 'ab', 'aé日'])
      for (const length of [90, 300, 1000, 5000]) {
        const value = characters.repeat(length).slice(0, length)
        expect(costOf(() => answer(request, { a: value }))).toBeLessThan(maxCost)
      }
  })

  it.each([
    ['[^@\\s]+@[^@\\s]+\\.[a-z]{2,}', 'ada@example.org'],
    ['\\d{4}-\\d{2}-\\d{2}', '2026-02-28'],
    ['(?:\\d{1,3}\\.){3}\\d{1,3}', '127.0.0.1'],
    ['[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}', '123e4567-e89b-12d3-a456-426614174000'],
    ['.{1,120}', 'x'.repeat(120)],
    ['[a-z]+', 'z'.repeat(5000)],
  ])('%s is common, and is accepted', (pattern, value) => {
    const request = form(text('a', pattern))
    open(request)
    expect(answer(request, { a: value })).toMatchObject({ settlement: 'answered' })
  })

  it('rejects a text that is too long for it, the same on every machine', () => {
    const request = form(text('a', '(?:\\w\\s?){1,60}'))
    expect(answer(request, { a: 'w'.repeat(5000) })).toEqual({
      errors: { a: 'Too long for the required format.' },
    })
  })

  it('shares one budget with all others of the form', () => {
    const fields = Array.from({ length: 6 }, (_, index) => text(`f${index}`, '(?:a?b?){1,30}c*'))
    const request = form(...fields)
    open(request)
    const values = Object.fromEntries(fields.map(({ name }) => [name, 'ab'.repeat(400)]))
    expect(costOf(() => answer(request, values))).toBeLessThan(maxCost)
    expect(Object.values((answer(request, values) as { errors: object }).errors)).toContain(
      'Too long for the required format.',
    )
  })
})

describe('a form', () => {
  it('with many options and as many choices is checked at little cost', () => {
    const options = Array.from({ length: 20_000 }, (_, index) => ({ value: `v${index}` }))
    const request = form({ name: 'a', type: 'multiselect', options: [...options, { value: 1 }] })
    const values = { a: options.map(({ value }) => value).toReversed() }
    expect(costOf(() => open({ ...request, initialValues: values }))).toBeLessThan(maxCost)
    expect(costOf(() => answer(request, values))).toBeLessThan(maxCost)
  })

  it('in which every field depends on one long value is checked at little cost', () => {
    const parent: FormField = { name: 'p', type: 'textarea' }
    const request = form(
      parent,
      ...Array.from({ length: 499 }, (_, index): FormField => ({
        name: `f${index}`,
        type: 'text',
        visibleWhen: { field: 'p', equals: 'x' },
      })),
    )
    const values = new Map<string, Json>([['p', 'y'.repeat(1_000_000)]])
    expect(costOf(() => visibleFields(fieldsOf(request.schema), values))).toBeLessThan(maxCost)
  })
})
