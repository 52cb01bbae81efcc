import { describe, expect, it } from 'vitest'
import { interaction, type Interaction } from './interaction.js'
import { answer, ask, logOf, start, stateOf } from './event-log.fixture.js'
import type { EventOf } from './events.js'
import {
  deliverInteraction,
  isDefaultAnswer,
  isInDoubt,
  latestSameRequest,
  openInteraction,
  pendingMeantBy,
  progressInteraction,
  settleInteraction,
  viewInteraction,
} from './lifecycle.js'
import { pendingOf } from './state.js'

const [, request, response] = logOf(...ask('i1'), ...answer('i1')) as [
  unknown,
  EventOf<'interaction_request'>,
  EventOf<'interaction_response'>,
]

/** Every field that an interaction can have, except `overdue`, which only reads have. */
const full: Interaction = {
  ...settleInteraction(openInteraction(request), response),
  expiresAt: 1,
  errors: { a: 'Required.' },
  progress: [],
  repromptOf: 'i0',
  anchor: 'exact',
  agentId: 'a',
  openedBy: 'o',
  source: 'cli',
  notes: ['only_always'],
  updatedDigest: 'd2',
  supersededBy: 'i2',
  delivered: true,
  copyOf: 'original',
  turnId: 'u1',
  responseId: 'r1',
}

describe('each transition of an interaction', () => {
  it('keeps every field', () => {
    expect(Object.keys(full).sort()).toEqual(
      Object.keys(interaction.shape)
        .filter((key) => key !== 'overdue')
        .sort(),
    )
    expect(deliverInteraction(full)).toStrictEqual(full)
    const progress: EventOf<'interaction_progress'> = {
      ...response,
      type: 'interaction_progress',
      answers: [1],
    }
    expect(progressInteraction(full, progress)).toStrictEqual({ ...full, progress: [1] })
    expect(settleInteraction(full, response)).toStrictEqual(full)
  })

  it('leaves the interaction it starts from unchanged', () => {
    const pending = Object.freeze(openInteraction(request))
    expect(settleInteraction(pending, response)).toMatchObject({ status: 'settled', settlement: 'denied' })
    expect(pending).not.toHaveProperty('settlement')
  })

  it('adds no field that is undefined', () => {
    expect(Object.values(openInteraction(request))).not.toContain(undefined)
    expect(Object.values(settleInteraction(openInteraction(request), response))).not.toContain(undefined)
  })
})

const [opened] = pendingOf(stateOf(start, ...ask('i1')))

describe('an interaction is overdue', () => {
  it.each<[string, Partial<Interaction>, number, boolean]>([
    ['not before its deadline', { onTimeout: 'keep', expiresAt: 100 }, 99, false],
    ['from its deadline on', { onTimeout: 'keep', expiresAt: 100 }, 100, true],
    ['not without a deadline', { onTimeout: 'keep' }, 1e12, false],
    ['not if its deadline settles it', { onTimeout: 'deny', expiresAt: 100 }, 101, false],
    ['not if it is settled', { onTimeout: 'keep', expiresAt: 100, status: 'settled' }, 101, false],
  ])('[L5] %s', (_, fields, now, overdue) => {
    const item = { ...opened!, ...fields }
    expect(viewInteraction(item, now)).toStrictEqual(overdue ? { ...item, overdue } : item)
  })
})

it.each<[string, Partial<Interaction>, boolean]>([
  ['at its deadline', { via: 'policy', settledAt: 100 }, true],
  ['after its deadline', { via: 'policy', settledAt: 101 }, true],
  ['by a rule, at once', { via: 'policy', settledAt: 1 }, false],
  ['by a person', { via: 'web', settledAt: 99 }, false],
  ['by a rule, without a deadline', { via: 'policy', settledAt: 100, expiresAt: undefined }, false],
  ['not yet', { status: 'pending' }, false],
])('[L5] a settlement %s comes from the declared default: %j', (_, fields, expected) => {
  const item = { ...opened!, status: 'settled' as const, onTimeout: { answer: 1 }, expiresAt: 100, ...fields }
  expect(isDefaultAnswer(item as Interaction)).toBe(expected)
})

it.each<[string, Partial<Interaction>, boolean]>([
  ['an approval that was claimed', { settlement: 'approved', delivered: true }, true],
  ['an approval that nobody has claimed', { settlement: 'approved' }, false],
  ['a denial', { settlement: 'denied', delivered: true }, false],
  ['the approval of a plan', { kind: 'plan_review', settlement: 'approved', delivered: true }, false],
])('[L10] whether it is in doubt: %s', (_, fields, expected) => {
  expect(isInDoubt({ ...opened!, ...fields })).toBe(expected)
})

describe('[L11] the latest interaction that asks the same', () => {
  const item = (interactionId: string, fields: Partial<Interaction> = {}): Interaction => ({
    ...opened!,
    interactionId,
    toolCallId: 't1',
    ...fields,
  })
  const asked = { toolCallId: 't1', kind: 'approval', digest: 'd' }

  it('is the newest with the same tool call, kind and digest, pending or settled', () => {
    const items = [item('a'), item('b', { status: 'settled', settlement: 'denied' })]
    expect(latestSameRequest(items, asked)?.interactionId).toBe('b')
  })

  it.each<[string, Partial<Interaction>]>([
    ['another tool call', { toolCallId: 't2' }],
    ['another kind', { kind: 'question' }],
    ['another digest', { digest: 'e' }],
    ['a superseded one', { settlement: 'superseded' }],
  ])('is not %s', (_, fields) => {
    expect(latestSameRequest([item('a'), item('b', fields)], asked)?.interactionId).toBe('a')
    expect(latestSameRequest([item('b', fields)], asked)).toBeUndefined()
  })
})

describe('which pending interaction of a tool call an answer means', () => {
  const item = (interactionId: string, digest: string): Interaction => ({ ...opened!, interactionId, digest })
  const [a, b, c] = [item('a', 'x'), item('b', 'y'), item('c', 'y')]

  it.each<[string, Interaction[], string | undefined, Interaction[], boolean]>([
    ['none, if none is pending', [], undefined, [], false],
    ['the only one', [a], undefined, [a], false],
    ['any of several, without a digest', [a, b], undefined, [a, b], true],
    ['the one of the digest', [a, b], 'y', [b], false],
    ['any of several with that digest', [a, b, c], 'y', [b, c], true],
    ['one that will refuse a digest that fits none', [a, b], 'z', [a, b], false],
  ])('%s', (_, pending, digest, candidates, isAmbiguous) => {
    expect(pendingMeantBy(pending, digest)).toEqual({ candidates, isAmbiguous })
  })
})
