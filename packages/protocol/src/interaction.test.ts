import { describe, expect, it } from 'vitest'
import { ask, stateOf, start } from './log.fixture.js'
import { isDefaultAnswer, viewInteraction, type Interaction } from './interaction.js'
import { pendingOf } from './state.js'

const [asked] = pendingOf(stateOf(start, ...ask('i1')))

describe('a view of an interaction', () => {
  it.each<[string, Partial<Interaction>, number, boolean]>([
    ['before its deadline', { onTimeout: 'keep', expiresAt: 100 }, 99, false],
    ['from its deadline on', { onTimeout: 'keep', expiresAt: 100 }, 100, true],
    ['that has no deadline', { onTimeout: 'keep' }, 1e12, false],
    ['that its deadline settles', { onTimeout: 'deny', expiresAt: 100 }, 101, false],
    ['that is settled', { onTimeout: 'keep', expiresAt: 100, status: 'settled' }, 101, false],
  ])('[L5] %s', (_, fields, now, overdue) => {
    const item = { ...asked!, ...fields }
    expect(viewInteraction(item, now)).toStrictEqual(overdue ? { ...item, overdue } : item)
  })
})

it.each<[string, Partial<Interaction>, boolean]>([
  ['at its deadline', { via: 'policy', settledAt: 100 }, true],
  ['after its deadline', { via: 'policy', settledAt: 101 }, true],
  ['by a rule, at once', { via: 'policy', settledAt: 1 }, false],
  ['by somebody', { via: 'web', settledAt: 99 }, false],
  ['by a rule, where it never ends', { via: 'policy', settledAt: 100, expiresAt: undefined }, false],
  ['not yet', { status: 'pending' }, false],
])('[L5] what is settled %s is settled by the default that was declared: %j', (_, fields, expected) => {
  const item = { ...asked!, status: 'settled' as const, onTimeout: { answer: 1 }, expiresAt: 100, ...fields }
  expect(isDefaultAnswer(item as Interaction)).toBe(expected)
})
