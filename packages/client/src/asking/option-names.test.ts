import { expect, it } from 'vitest'
import { checkOptionNames } from './option-names.js'

const known = ['timeout', 'signal', 'cancelOn', 'key']

it.each([
  ['timeOut', 'choose() has no option "timeOut". Did you mean "timeout"?'],
  ['timeoutMs', 'choose() has no option "timeoutMs". Did you mean "timeout"?'],
  ['tiemout', 'choose() has no option "tiemout". Did you mean "timeout"?'],
  ['sginal', 'choose() has no option "sginal". Did you mean "signal"?'],
  ['colour', 'choose() has no option "colour". There are timeout, signal, cancelOn, key.'],
])('refuses %s, and says what was meant', (name, message) => {
  expect(() => checkOptionNames({ [name]: 1 }, known, 'choose()')).toThrow(message)
})

it('takes known options, also with undefined as their value', () => {
  expect(() => checkOptionNames({ timeout: undefined, key: 'k' }, known, 'choose()')).not.toThrow()
})

it.each([null, 'timeout', 5, undefined])('refuses %j, which is no object', (options) => {
  expect(() => checkOptionNames(options, known, 'choose()')).toThrow(
    'The options of choose() must be an object.',
  )
})
