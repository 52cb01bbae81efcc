import { z } from 'zod'
import type { Json } from './json.js'

export const json = z.custom<Json>((value) => value !== undefined, 'is missing')

export const approvalRequest = z.object({
  input: json,
  title: z.string().optional(),
  description: z.string().optional(),
  reason: z.string().optional(),
  blockedPath: z.string().optional(),
  suggestions: json.optional(),
  preview: json.optional(),
})

export const approvalScope = z.enum(['once', 'session', 'always'])

export const approvalAnswer = z.strictObject({
  decision: z.enum(['approve', 'deny']),
  scope: approvalScope.optional(),
  updatedInput: json.optional(),
  message: z.string().optional(),
})

export type ApprovalScope = z.infer<typeof approvalScope>
export type ApprovalRequest = z.infer<typeof approvalRequest>
export type ApprovalAnswer = z.infer<typeof approvalAnswer>
