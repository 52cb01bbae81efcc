import { expect, it } from 'vitest'
import { skeleton } from './confusables.js'

it.each([
  ['Cyrillic for Latin', 'раypal', 'paypal'],
  ['a capital of another script', 'Вob', 'Bob'],
  ['Greek for Latin', 'Αlice', 'alice'],
  ['upper and lower case', 'ANNA', 'anna'],
  ['a capital i for an l', 'aIice', 'alice'],
  ['digits for letters', 'b0b1', 'bobl'],
  ['full width', 'ｂｏｂ', 'bob'],
  ['a character that cannot be seen', 'bo\u200bb\u3164', 'bob'],
  ['other spaces', ' Ada\u00a0\u2003Lovelace', 'ada lovelace'],
  ['a composed letter', 'Rene\u0301', 'René'],
  ['two letters for one', 'arny', 'amy'],
  ['another case of a look-alike', 'НИНА', 'нина'],
])('%s has the same skeleton', (_name, one, other) => {
  expect(skeleton(one)).toBe(skeleton(other))
})

it.each([
  ['anna', 'hanna'],
  ['José', 'Jose'],
  ['claude', 'claude-2'],
  ['Олег', 'Ольга'],
])('%s and %s stay apart', (one, other) => {
  expect(skeleton(one)).not.toBe(skeleton(other))
})
