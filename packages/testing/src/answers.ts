import {
  planReviewRequest,
  questionRequest,
  type FormValues,
  type Interaction,
  type Json,
  type PlanDecision,
} from '@askback/protocol'

/** Says how to answer a request. A request for which it returns `undefined` stays pending. */
export type AnswerRule = (request: Interaction) => Json | undefined | Promise<Json | undefined>

/** Chooses the first option of each question. Throws for a question without options, which asks for a text. */
export const first: AnswerRule = ({ request }) => ({
  answers: questionRequest.parse(request).questions.map(({ question, options: [option] }) => {
    if (!option)
      throw new Error(`The question ${JSON.stringify(question)} has no options: answer it with write().`)
    return { selected: [option.label] }
  }),
})

/**
 * Chooses options by their labels: one entry for each question, which is a list where several are chosen.
 *
 * @example
 * pick('SQLite')
 * pick('SQLite', ['lint', 'tests']) // two questions
 */
export function pick(...choices: (string | readonly string[])[]): AnswerRule {
  return () => ({ answers: choices.map((choice) => ({ selected: [choice].flat() })) })
}

/** Answers each question with a text: one text for each. */
export function write(...texts: string[]): AnswerRule {
  return () => ({ answers: texts.map((other) => ({ selected: [], other })) })
}

/** Approves a tool call once, as it was shown. */
export const approve: AnswerRule = () => ({ decision: 'approve' })

/** Denies a tool call. */
export function deny(message?: string): AnswerRule {
  return () => ({ decision: 'deny', ...(message !== undefined && { message }) })
}

/** Fills in a form. */
export function fill(values: FormValues): AnswerRule {
  return () => ({ values })
}

/** Agrees to a plan, by default in the same context. */
export function acceptPlan(decision: Exclude<PlanDecision, 'adjust'> = 'edit'): AnswerRule {
  return ({ request }) => {
    planReviewRequest.parse(request)
    return { decision }
  }
}

/** Sends a plan back. */
export function adjustPlan(feedback: string): AnswerRule {
  return () => ({ decision: 'adjust', feedback })
}
