import { expect, it } from 'vitest'
import { parseTimeout, shortDuration } from './arguments.js'

it.each([
  ['10m', 600_000],
  ['90s', 90_000],
  ['1.5h', 5_400_000],
  ['500ms', 500],
  ['2d', 172_800_000],
  ['never', null],
])('reads %s as %j ms', (text, ms) => expect(parseTimeout(text)).toBe(ms))

it.each(['', '10', 'm', '-1m', '0s', '1w', '1 m', 'Never', '1e3s'])('refuses %j as a time', (text) => {
  expect(() => parseTimeout(text)).toThrow('--timeout is a time')
  expect(() => parseTimeout(text, 'ASKBACK_TIMEOUT')).toThrow('ASKBACK_TIMEOUT is a time')
})

it.each([
  [-5, '0s'],
  [59_999, '59s'],
  [60_000, '1m'],
  [7_199_000, '1h'],
  [200_000_000, '2d'],
])('shortens %d ms to %s', (ms, text) => expect(shortDuration(ms)).toBe(text))
