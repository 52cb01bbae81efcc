import { z } from 'zod'

export const planReviewRequest = z.object({
  plan: z.string(),
  planFilePath: z.string().optional(),
})

export const planDecision = z.enum(['clean_edit', 'edit', 'default', 'adjust'])

export const planReviewAnswer = z.strictObject({
  decision: planDecision,
  feedback: z.string().optional(),
  updatedPlan: z.string().optional(),
})

export type PlanDecision = z.infer<typeof planDecision>
export type PlanReviewRequest = z.infer<typeof planReviewRequest>
export type PlanReviewAnswer = z.infer<typeof planReviewAnswer>
