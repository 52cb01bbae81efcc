import { describe, expect, expectTypeOf, it } from 'vitest'
import type { ApprovalAnswer, ApprovalRequest } from './approval.js'
import { hasAnswer, isOfKind, isRecord } from './guards.js'
import type { Interaction } from './interaction.js'

const pending: Interaction = {
  interactionId: 'i',
  sessionId: 's',
  toolCallId: 'c',
  toolName: 'Bash',
  kind: 'approval',
  presentation: 'tool',
  request: { input: { command: 'ls' } },
  digest: 'd',
  status: 'pending',
  requestedAt: 0,
  onTimeout: 'deny',
}

describe('isOfKind', () => {
  it('is true for the kind of the interaction only', () => {
    expect(isOfKind(pending, 'approval')).toBe(true)
    expect(isOfKind(pending, 'question')).toBe(false)
    expect(isOfKind({ ...pending, kind: 'rating' }, 'approval')).toBe(false)
  })

  it('gives the request and the answer the types of the kind', () => {
    if (!isOfKind(pending, 'approval')) throw new Error('It is an approval.')
    expectTypeOf(pending.request).toExtend<ApprovalRequest>()
    expectTypeOf(pending.answer).toExtend<ApprovalAnswer | undefined>()
    expect(pending.request.input).toEqual({ command: 'ls' })
  })
})

describe('hasAnswer', () => {
  it('is true once the interaction of this kind has an answer', () => {
    const approved: Interaction = { ...pending, status: 'settled', answer: { decision: 'approve' } }
    expect(hasAnswer(pending, 'approval')).toBe(false)
    expect(hasAnswer(approved, 'approval')).toBe(true)
    expect(hasAnswer(approved, 'plan_review')).toBe(false)
  })
})

describe('isRecord', () => {
  it.each([[{}], [{ a: 1 }], [new Error('failed')]])('is true for the object %j', (value) => {
    expect(isRecord(value)).toBe(true)
  })

  it.each([[null], [undefined], [[]], ['text'], [1], [() => {}]])('is false for %j', (value) => {
    expect(isRecord(value)).toBe(false)
  })
})
