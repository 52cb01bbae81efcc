import * as z from 'zod'

/** A plan in Markdown. */
export const planReviewRequest = z.object({
  plan: z.string(),
  planFilePath: z.string().optional(),
})

/**
 * `clean_edit`: approve, with a fresh context in mode acceptEdits. `edit`: approve, same context in mode acceptEdits.
 * `default`: approve, with a fresh context in mode default. `adjust`: send the plan back with feedback, stay in plan mode.
 */
export const planDecision = z.enum(['clean_edit', 'edit', 'default', 'adjust'])

/** How to go on with a plan. */
export const planReviewAnswer = z.strictObject({
  decision: planDecision,
  feedback: z.string().optional(),
  updatedPlan: z.string().optional(),
})

export type PlanDecision = z.infer<typeof planDecision>
export type PlanReviewRequest = z.infer<typeof planReviewRequest>
export type PlanReviewAnswer = z.infer<typeof planReviewAnswer>
