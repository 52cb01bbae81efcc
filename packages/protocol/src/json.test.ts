import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { copyJson, MAX_JSON_DEPTH, type Json } from './json.js'

function nested(depth: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < depth; level += 1) value = level % 2 ? { a: value } : [value]
  return value
}

const refusal = (message: string) =>
  expect.objectContaining({
    code: 'invalid_request',
    message: expect.stringContaining(message) as string,
  }) as Error

describe('copying JSON', () => {
  it('gives an equal value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'grapheme', maxDepth: 4 }), (value) => {
        fc.pre(isAcceptable(value))
        expect(copyJson(value)).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  it('protects the copy from later changes by the caller', () => {
    const input = { command: 'ls', args: [{ deep: 1 }] }
    const copied = copyJson(input)
    input.command = 'rm -rf /'
    input.args[0]!.deep = 2
    input.args.push({ deep: 3 })
    expect(copied).toEqual({ command: 'ls', args: [{ deep: 1 }] })
  })

  it('reads a getter once, so that it cannot show one value and run another', () => {
    let reads = 0
    const changing = {
      get command() {
        reads += 1
        return reads === 1 ? 'ls' : 'rm -rf /'
      },
    }
    const copied = copyJson(changing)
    expect(copied).toEqual({ command: 'ls' })
    expect(reads).toBe(1)
  })

  it('leaves out properties that are undefined', () => {
    expect(copyJson({ a: undefined, b: 1 })).toStrictEqual({ b: 1 })
  })

  it('accepts an object without a prototype, and gives a plain one', () => {
    const bare = Object.assign(Object.create(null) as object, { a: 1 })
    expect(copyJson(bare)).toStrictEqual({ a: 1 })
  })

  it('turns a negative zero into zero, as the digest does', () => {
    expect(Object.is(copyJson(-0), 0)).toBe(true)
  })

  it.each<[string, unknown, string]>([
    ['undefined', undefined, 'is undefined'],
    ['undefined in an array', [1, undefined], 'value[1] is undefined'],
    // oxlint-disable-next-line no-sparse-arrays
    ['a hole in an array', [1, , 3], 'value[1] is undefined'],
    ['a function', { a: () => 1 }, 'value.a is a function'],
    ['a symbol', [Symbol('x')], 'value[0] is a symbol'],
    ['a bigint', { a: 1n }, 'value.a is a bigint'],
    ['NaN', Number.NaN, 'is not a finite number'],
    ['an infinity', { a: [-Infinity] }, 'value.a[0] is not a finite number'],
    ['an unsafe integer', 2 ** 53, 'beyond'],
    ['an unsafe negative integer', -(2 ** 53), 'beyond'],
    ['an integer of 300 digits', 1e300, 'beyond'],
    ['a lone surrogate', { a: 'x\uD800y' }, 'value.a holds a lone surrogate'],
    ['a lone surrogate at the end', '\uDC00', 'holds a lone surrogate'],
    ['a key with a lone surrogate', { '\uD800': 1 }, 'has a key with a lone surrogate'],
    ['a date', new Date(0), 'is not a plain object'],
    ['a map', { a: new Map() }, 'value.a is not a plain object'],
    ['an error', new Error('x'), 'is not a plain object'],
    ['an instance of some class', new URLSearchParams('a=1'), 'is not a plain object'],
    ['an object with inherited properties', Object.create({ a: 1 }), 'is not a plain object'],
    [
      '__proto__ as JSON sends it',
      JSON.parse('{"a":{"__proto__":{"admin":true}}}'),
      'value.a.__proto__ is a prototype key',
    ],
    [
      'constructor.prototype',
      { constructor: { prototype: { admin: true } } },
      'value.constructor is a prototype key',
    ],
  ])('refuses %s, and says where it is', (_, value, message) => {
    expect(() => copyJson(value)).toThrow(refusal(message))
  })

  it.each<Json>([
    2 ** 53 - 1,
    -(2 ** 53 - 1),
    0.1,
    1.5e300 / 1e299,
    1e-300,
    '👍',
    { constructor: 'a word' },
    { prototype: 1 },
  ])('accepts %j', (value) => {
    expect(copyJson(value)).toEqual(value)
  })

  it('accepts a hundred levels and no more', () => {
    expect(() => copyJson(nested(MAX_JSON_DEPTH))).not.toThrow()
    expect(() => copyJson(nested(MAX_JSON_DEPTH + 1))).toThrow(refusal('nested too deeply'))
  })

  it('refuses a cycle as too deep, with a message of bounded length', () => {
    const cycle: { self?: unknown; also?: unknown } = {}
    cycle.self = cycle
    cycle.also = [cycle, cycle]
    expect(() => copyJson(cycle)).toThrow(refusal('nested too deeply'))
    expect(() => copyJson({ ['k'.repeat(10_000)]: undefined, ['l'.repeat(10_000)]: Number.NaN })).toThrow(
      /^.{0,300}$/,
    )
  })
})

/** Whether the generated value has only numbers and keys that `copyJson` accepts. */
function isAcceptable(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isInteger(value) || Number.isSafeInteger(value)
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([key, item]) => key !== '__proto__' && isAcceptable(item))
}

it('copies an array of a subclass to a plain one, and refuses a huge length', () => {
  class OwnArray extends Array<string> {
    toJSON() {
      return ['rm']
    }
  }
  expect(JSON.stringify(copyJson(OwnArray.from(['ls'])))).toBe('["ls"]')
  expect(() => copyJson(Object.assign([], { length: 2 ** 32 - 1 }))).toThrow('has more than')
})
