import { expect, it } from 'vitest'
import { timeLeft } from './time-left.js'

const item = { status: 'pending', requestedAt: 1000, expiresAt: 61_000 } as const

it.each([
  ['a fresh one', item, 1000, 60_000],
  ['one on its way', item, 31_000, 30_000],
  ['[lesson 24] one that is over', item, 99_000, 0],
  ['[lesson 24] a clock that is behind', item, 0, 60_000],
  ['one without a deadline', { status: 'pending', requestedAt: 1000 } as const, 2000, null],
  ['one that is settled', { ...item, status: 'settled' } as const, 2000, null],
])('%s', (_name, interaction, now, left) => {
  expect(timeLeft(interaction, now)).toBe(left)
})
