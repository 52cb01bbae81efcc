import { z } from 'zod'
import { approvalScope, json } from './approval.js'
import { permissionMode } from './session.js'

/** What UTF-8 cannot carry would not survive the log. */
export const wellFormed = z.string().refine((value) => value.isWellFormed(), 'holds a lone surrogate')
const id = wellFormed.min(1).max(500)

/** The bodies of the HTTP routes; the library's calls take the same. */
export const createSessionBody = z.object({
  agent: wellFormed.nullable().optional(),
  cwd: wellFormed.min(1).optional(),
  title: wellFormed.max(500).optional(),
  permissionMode: permissionMode.optional(),
  model: wellFormed.optional(),
})

export const openBody = z.object({
  kind: z.string(),
  toolName: id.optional(),
  toolCallId: id.optional(),
  attach: z.boolean().optional(),
  request: json,
  timeoutMs: z.number().nullable().optional(),
  onTimeout: json.optional(),
})

export const respondBody = z.object({
  answer: json,
  digest: z.string().optional(),
  /** For who has seen the tool call, and not this very interaction: `ambiguous` if the call has held different requests. */
  toolCallId: z.string().optional(),
})

export const messageBody = z.object({
  text: wellFormed,
  route: z.enum(['auto', 'agent', 'interaction']).optional(),
  interactionId: id.optional(),
  questionIndex: z.int().min(0).optional(),
})

/** Where a message went. `log`: the session has no agent to read it, so it is only recorded. */
export const routedMessage = z.object({
  routed: z.enum(['agent', 'interaction', 'log']),
  interactionId: z.string().optional(),
})

export const toolCallBody = z.object({
  toolCallId: id.optional(),
  toolName: id,
  input: json,
  turnId: id.optional(),
  responseId: id.optional(),
})

export const toolResultBody = z.object({ output: json, isError: z.boolean().optional() })

/** Which request of a tool call was seen: needed once the call has held different ones. */
const seen = { digest: z.string().optional(), interactionId: z.string().optional() }

export const submitAnswersBody = z.object({ toolCallId: id, answers: z.record(z.string(), json), ...seen })

export const approveBody = z.object({
  toolCallId: id,
  scope: approvalScope.optional(),
  updatedInput: json.optional(),
  ...seen,
})

export const denyBody = z.object({ toolCallId: id, message: wellFormed.optional(), ...seen })

export const permissionModeBody = z.object({ mode: permissionMode })

export type CreateSessionBody = z.infer<typeof createSessionBody>
export type OpenBody = z.infer<typeof openBody>
export type MessageBody = z.infer<typeof messageBody>
export type Routed = z.infer<typeof routedMessage>
export type ToolCallBody = z.infer<typeof toolCallBody>
