import { describe, expect, it } from 'vitest'
import { interaction, type Interaction } from './interaction.js'
import { deliverInteraction, openInteraction, progressInteraction, settleInteraction } from './lifecycle.js'
import { answer, ask, logOf } from './log.fixture.js'
import type { EventOf } from './events.js'

const [, request, response] = logOf(...ask('i1'), ...answer('i1')) as [
  unknown,
  EventOf<'interaction_request'>,
  EventOf<'interaction_response'>,
]

/** Every field that an interaction can have but `overdue`, which is a matter of reading. */
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
  updatedDigest: 'd2',
  supersededBy: 'i2',
  delivered: true,
  copyOf: 'original',
  turnId: 'u1',
  responseId: 'r1',
}

describe('the steps of an interaction', () => {
  it('lose no field on the way', () => {
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

  it('leave the one they start from as it is', () => {
    const pending = Object.freeze(openInteraction(request))
    expect(settleInteraction(pending, response)).toMatchObject({ status: 'settled', settlement: 'denied' })
    expect(pending).not.toHaveProperty('settlement')
  })

  it('have no fields that are undefined', () => {
    expect(Object.values(openInteraction(request))).not.toContain(undefined)
    expect(Object.values(settleInteraction(openInteraction(request), response))).not.toContain(undefined)
  })
})
