import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson, digestOf, portableSha256Hex, sha256Hex } from './digest.js'
import type { Json } from './json.js'

describe('RFC 8785', () => {
  it('[L12] writes the example of section 3.2.2', () => {
    const value = JSON.parse(`{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\"\\/",
      "literals": [null, true, false]
    }`) as Json
    expect(canonicalJson(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    )
  })

  it('[L12] orders keys by UTF-16 code units, as in section 3.2.3', () => {
    const value = {
      '\u20ac': 'Euro Sign',
      '\r': 'Carriage Return',
      '\ufb33': 'Hebrew Letter Dalet With Dagesh',
      '1': 'One',
      '\ud83d\ude00': 'Emoji: Grinning Face',
      '\u0080': 'Control',
      '\u00f6': 'Latin Small Letter O With Diaeresis',
    }
    expect(Object.values(JSON.parse(canonicalJson(value)) as object)).toEqual([
      'One',
      'Carriage Return',
      'Control',
      'Latin Small Letter O With Diaeresis',
      'Euro Sign',
      'Emoji: Grinning Face',
      'Hebrew Letter Dalet With Dagesh',
    ])
    expect(canonicalJson(value).indexOf('\ud83d\ude00')).toBeLessThan(canonicalJson(value).indexOf('\ufb33'))
  })

  // The finite numbers of appendix B, by their IEEE 754 bits.
  it.each([
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555554', '333333333.33333325'],
    ['41b3de4355555555', '333333333.3333333'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ])('[L12] writes the number with the bits %s as %s', (bits, text) => {
    const view = new DataView(new ArrayBuffer(8))
    view.setBigUint64(0, BigInt(`0x${bits}`))
    expect(canonicalJson(view.getFloat64(0))).toBe(text)
  })
})

describe('canonical JSON', () => {
  it('[L12] parses to the same value, and is the same for every order of keys', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const json = JSON.parse(JSON.stringify(value)) as Json
        const text = canonicalJson(json)
        expect(JSON.parse(text)).toEqual(json)
        expect(canonicalJson(withKeysReversed(json))).toBe(text)
      }),
    )
  })
})

describe('the digest', () => {
  it.each([
    ['of Node', sha256Hex],
    ['that runs everywhere', portableSha256Hex],
  ])('[L12] is the hex SHA-256 of the canonical bytes, by the hash %s', (_, hash) => {
    expect(hash('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
    expect(hash('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(hash(text)).toBe(createHash('sha256').update(text, 'utf8').digest('hex'))
      }),
    )
  })

  it('[L12] covers the tool and its input, but not the order of keys', () => {
    const text = '{"input":{"a":[1,"é"],"command":"ls"},"toolName":"Bash"}'
    expect(digestOf('Bash', { command: 'ls', a: [1, 'é'] })).toBe(
      createHash('sha256').update(text).digest('hex'),
    )
  })

  it.each<[string, Json]>([
    ['bash', { command: 'ls' }],
    ['Bash', { command: 'ls ' }],
    ['Bash', { command: 'l\u200bs' }],
    ['Bash', { Command: 'ls' }],
    ['Bash', { command: ['ls'] }],
    ['Bash', { command: 'ls', extra: null }],
    ['Bash', 'ls'],
  ])('[L12] differs for another call: %s %j', (toolName, input) => {
    expect(digestOf(toolName, input)).not.toBe(digestOf('Bash', { command: 'ls' }))
  })
})

function withKeysReversed(value: Json): Json {
  if (Array.isArray(value)) return value.map(withKeysReversed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, item]) => [key, withKeysReversed(item)] as const)
      .reverse(),
  )
}
