import { z } from 'zod'
import { approvalScope, json } from './approval.js'
import { permissionMode } from './session.js'

const id = z.string().min(1).max(500)

/** The bodies of the HTTP routes; the library's calls take the same. */
export const createSessionBody = z.object({
  agent: z.string().nullable().optional(),
  cwd: z.string().min(1).optional(),
  title: z.string().max(500).optional(),
  permissionMode: permissionMode.optional(),
  model: z.string().optional(),
})

export const openBody = z.object({
  kind: z.string(),
  toolName: z.string().min(1).max(500).optional(),
  toolCallId: id.optional(),
  attach: z.boolean().optional(),
  request: json,
  timeoutMs: z.number().nullable().optional(),
  onTimeout: json.optional(),
})

export const respondBody = z.object({ answer: json, digest: z.string().optional() })

export const messageBody = z.object({
  text: z.string(),
  route: z.enum(['auto', 'agent', 'interaction']).optional(),
  interactionId: id.optional(),
  questionIndex: z.int().min(0).optional(),
})

export const toolCallBody = z.object({
  toolCallId: id.optional(),
  toolName: z.string().min(1).max(500),
  input: json,
  turnId: id.optional(),
  responseId: id.optional(),
})

export const toolResultBody = z.object({ output: json, isError: z.boolean().optional() })

export const submitAnswersBody = z.object({ toolCallId: id, answers: z.record(z.string(), json) })

export const approveBody = z.object({
  toolCallId: id,
  scope: approvalScope.optional(),
  updatedInput: json.optional(),
  digest: z.string().optional(),
})

export const denyBody = z.object({ toolCallId: id, message: z.string().optional() })

export const permissionModeBody = z.object({ mode: permissionMode })

export type CreateSessionBody = z.infer<typeof createSessionBody>
export type OpenBody = z.infer<typeof openBody>
export type MessageBody = z.infer<typeof messageBody>
export type ToolCallBody = z.infer<typeof toolCallBody>
