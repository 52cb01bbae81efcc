import { planEffect, type Settlement } from '@askback/core'
import type { PlanReviewAnswer } from '@askback/protocol'
import { planChange, refusalOf, type Refused } from './refusal.js'

/** How the call ends in the log if it goes on in a fresh context: the model that made it never hears of it. */
export const PLAN_APPROVED = 'Approved. It goes on in a fresh context.'

export interface Review {
  /** For the log. */
  told: string
  isError: boolean
  /** What the program is told next; `null` if nothing. */
  next: string | null
  /** In a thread that knows nothing but the plan. */
  isFresh: boolean
}

export function reviewOf(settled: Settlement<PlanReviewAnswer>, plan: string): Review {
  if (settled.settlement === 'denied') {
    const next = planChange(settled.message)
    return { told: next, isError: true, next, isFresh: false }
  }
  if (settled.settlement !== 'approved')
    return { told: refusalOf(settled as Refused, 'the plan'), isError: true, next: null, isFresh: false }
  const { decision, updatedPlan } = settled.answer
  const isFresh = planEffect(decision)?.freshContext ?? false
  return { told: 'Approved.', isError: false, next: planMessage(updatedPlan ?? plan), isFresh }
}

/** The first message of who carries it out. */
export function planMessage(plan: string): string {
  return `The user has approved this plan. Carry it out.\n\n${plan}`
}
