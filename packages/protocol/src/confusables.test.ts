import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { skeleton } from './confusables.js'

it.each([
  ['Cyrillic letters', 'раypal', 'paypal'],
  ['capitals of another script', 'Вob', 'Bob'],
  ['Greek letters', 'Αlice', 'alice'],
  ['upper and lower case', 'ANNA', 'anna'],
  ['capital i and small l', 'aIice', 'alice'],
  ['digits for letters', 'b0b1', 'bobl'],
  ['full-width letters', 'ｂｏｂ', 'bob'],
  ['invisible characters', 'bo\u200bb\u3164', 'bob'],
  ['other spaces', ' Ada\u00a0\u2003Lovelace', 'ada lovelace'],
  ['composed letters', 'Rene\u0301', 'René'],
  ['letters with a mark', 'ọwneṛ', 'owner'],
  ['enclosing marks', 'owner\u0332\u20dd\u0489', 'owner'],
  ['small capitals', 'ᴏᴡɴᴇʀ', 'owner'],
  ['punctuation and spaces', 'o wner._-@', 'owner'],
  ['two letters for one', 'arny', 'amy'],
  ['capitals that look like others', 'НИНА', 'нина'],
])('%s make no difference', (_name, one, other) => {
  expect(skeleton(one)).toBe(skeleton(other))
})

it.each(
  Array.from('๐໐०סဝ౦٥ഠ𐐬ơо', (o) => `${o}wner`).concat(
    Array.from('ɯաѡẉ', (w) => `o${w}ner`),
    Array.from('пɴռո', (n) => `ow${n}er`),
    Array.from('гɾʀ', (r) => `owne${r}`),
    ['ownꬲr'],
  ),
)('%s looks like owner', (name) => {
  expect(skeleton(name)).toBe(skeleton('owner'))
})

it.each(['ʙᴏʙ', 'ьоь', 'Ƅob', 'ɓob', 'ƃob', 'ბob', 'Bօb', 'ꓐob', 'bo b'])('%s looks like Bob', (name) => {
  expect(skeleton(name)).toBe(skeleton('Bob'))
})

it('a digit of any script looks like exactly one ASCII digit', () => {
  for (let code = 0; code <= 0x10ffff; code++) {
    const digit = String.fromCodePoint(code)
    if (!/\p{Nd}/u.test(digit) || '٥۵'.includes(digit)) continue
    const alike = Array.from('0123456789').filter((ascii) => skeleton(`a${digit}`) === skeleton(`a${ascii}`))
    expect([digit, alike]).toEqual([digit, [expect.any(String)]])
  }
})

it('marks, punctuation and case make no difference, and a skeleton is its own skeleton', () => {
  const noise = fc.constantFrom('\u0301', '\u0323', '\u0332', '\u20dd', '.', '-', '_', '@', ' ', '\u200b')
  const characters = fc.array(fc.tuple(fc.constantFrom(...Array.from('abcdeghkopstuxyz')), noise), {
    minLength: 1,
  })
  fc.assert(
    fc.property(characters, (pairs) => {
      const plain = pairs.map(([letter]) => letter).join('')
      const noisy = pairs.map(([letter, mark]) => letter.toUpperCase() + mark).join('')
      expect(skeleton(noisy)).toBe(skeleton(plain))
      expect(skeleton(skeleton(noisy))).toBe(skeleton(noisy))
    }),
  )
})

it.each([
  ['anna', 'hanna'],
  ['かな', 'がな'],
  ['राम', 'रमा'],
  ['claude', 'claude-2'],
  ['Олег', 'Ольга'],
])('%s and %s look different', (one, other) => {
  expect(skeleton(one)).not.toBe(skeleton(other))
})
