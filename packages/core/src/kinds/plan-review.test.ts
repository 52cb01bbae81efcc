import type { PlanReviewAnswer } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { planEffect, planReviewKind } from './plan-review.js'

const request = { plan: '1. Look\n2. Leap' }
const settle = (answer: PlanReviewAnswer) => planReviewKind.settle!(request, answer)

describe('settling a plan review', () => {
  it.each([
    ['clean_edit', { freshContext: true, mode: 'acceptEdits' }],
    ['edit', { freshContext: false, mode: 'acceptEdits' }],
    ['default', { freshContext: true, mode: 'default' }],
  ] as const)('%s approves', (decision, effect) => {
    const answer = { decision, updatedPlan: '1. Look' }
    expect(settle(answer)).toStrictEqual({ settlement: 'approved', answer })
    expect(planEffect(decision)).toEqual(effect)
  })

  it('adjust denies with the feedback, and the agent stays in plan mode', () => {
    const answer: PlanReviewAnswer = { decision: 'adjust', feedback: 'look twice' }
    expect(settle(answer)).toStrictEqual({ settlement: 'denied', answer, message: 'look twice' })
    expect(planEffect('adjust')).toBeNull()
  })

  it.each<PlanReviewAnswer>([
    { decision: 'adjust' },
    { decision: 'adjust', feedback: ' ' },
    { decision: 'adjust', feedback: 'look twice', updatedPlan: '1. Look' },
  ])('[L9] rejects %j', (answer) => {
    expect(() => settle(answer)).toThrow(expect.objectContaining({ code: 'invalid_answer' }))
  })
})
