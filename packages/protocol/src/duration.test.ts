import { expect, it } from 'vitest'
import { durationMs, type Duration } from './duration.js'

it.each<[Duration, number | null]>([
  [1500, 1500],
  ['250ms', 250],
  ['30s', 30_000],
  ['1.5h', 5_400_000],
  ['2d', 172_800_000],
  ['1w', 604_800_000],
  ['never', null],
])('the duration %j has %j milliseconds', (duration, ms) => {
  expect(durationMs(duration)).toBe(ms)
})

it.each([
  0,
  -1,
  0.4,
  Number.NaN,
  Infinity,
  '0s',
  '5',
  's',
  '5 s',
  '1e3s',
  '-5s',
  '20000w',
  '',
  null,
  undefined,
  {},
])('%j is no duration, and the error names the option', (value) => {
  expect(() => durationMs(value as Duration, 'timeout')).toThrow(
    /^timeout is a number of milliseconds, a text/u,
  )
})
