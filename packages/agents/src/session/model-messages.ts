/** Messages that tell the model how its requests were settled, for agents that accept nothing but words. */
import type { PlanReviewSettlement, Settlement } from '@askback/core'
import { planEffect } from '@askback/core/internal'
import type { QuestionAnswer, QuestionReply, QuestionRequest, SettlementKind } from '@askback/protocol'

/** Settled without a yes. */
export type Refused = Exclude<Settlement<unknown>, { settlement: 'answered' | 'approved' }>

export const IN_DOUBT_MESSAGE =
  'This call was approved, but the approval had been handed over before, so it may have run already, in full or in part. ' +
  'It is not run again. Check what it did before you go on.'

/**
 * The log's result of a plan that another context carries out. The model that made the plan never sees it.
 */
export const PLAN_HANDED_OVER = 'Approved. It goes on in a fresh context.'

export function isRefusal(settlement: SettlementKind | undefined): settlement is Refused['settlement'] {
  return settlement !== undefined && settlement !== 'answered' && settlement !== 'approved'
}

/** Says which of them it was, and that the model must not take it for an answer. `subject`: such as “the question”. */
export function refusalMessage(
  settled: { settlement: Refused['settlement']; message?: string | undefined },
  subject: string,
): string {
  switch (settled.settlement) {
    case 'denied':
      return settled.message === undefined
        ? `The user denied ${subject}. Do not try the same again; ask what to do instead, or go on without it.`
        : `The user denied ${subject}, and says: ${settled.message}`
    case 'cancelled':
      return `${capitalize(subject)} was cancelled before anybody answered. That is not an answer: do not assume one.`
    case 'timed_out':
      return `Nobody answered in time, so ${subject} counts as denied. That is not an answer: do not assume one.`
    case 'superseded':
      return `${capitalize(subject)} was replaced by a later request.`
  }
}

/** One line for each question. */
export function answerMessage(request: QuestionRequest, { answers }: QuestionAnswer): string {
  return request.questions
    .map(({ question }, index) => {
      const reply = answers[index]!
      const chosen = chosenLabels(reply)
        .map((label) => JSON.stringify(label))
        .join(' and ')
      const note = reply.note === undefined ? '' : ` (note: ${reply.note})`
      return `${JSON.stringify(question)} = ${chosen}${note}`
    })
    .join('\n')
}

/** The labels that the person selected, and the text that they typed. */
export function chosenLabels({ selected, other }: QuestionReply): string[] {
  return other === undefined ? selected : [...selected, other]
}

export function planChangeMessage(feedback: string | undefined): string {
  return `The user wants the plan changed: ${feedback ?? ''}`
}

/** The first message for the agent that carries the plan out. */
export function planMessage(plan: string): string {
  return `The user has approved this plan. Carry it out.\n\n${plan}`
}

export interface PlanReviewResult {
  /** The output of the tool call in the log. */
  output: string
  isError: boolean
  /** The next message for the agent; `null` if there is nothing more to do. */
  nextMessage: string | null
  /** Whether that message goes to a context that knows nothing but the plan. */
  isFreshContext: boolean
}

/** For agents whose program cannot be given the result of a review, only a message. */
export function planReviewResult(settled: PlanReviewSettlement, plan: string): PlanReviewResult {
  if (settled.settlement === 'denied') {
    const nextMessage = planChangeMessage(settled.message)
    return { output: nextMessage, isError: true, nextMessage, isFreshContext: false }
  }
  if (settled.settlement !== 'approved') {
    const output = refusalMessage(settled, 'the plan')
    return { output, isError: true, nextMessage: null, isFreshContext: false }
  }
  const { decision, updatedPlan } = settled.answer
  const isFreshContext = planEffect(decision)?.freshContext ?? false
  return {
    output: 'Approved.',
    isError: false,
    nextMessage: planMessage(updatedPlan ?? plan),
    isFreshContext,
  }
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
