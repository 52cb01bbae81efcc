import { z } from 'zod'
import { json } from './approval.js'
import { toolCallSource } from './events.js'
import { interaction, requestSource, via } from './interaction.js'
import {
  approveBody,
  createSessionBody,
  denyBody,
  messageBody,
  openBody,
  respondBody,
  submitAnswersBody,
  toolCallBody,
  wellFormed,
} from './requests.js'

const id = wellFormed.min(1).max(500)
/** Of something that exists or does not: it is only looked up. */
const known = z.string()

/** Who is behind a call of the library, and the key that makes it count once. */
export const origin = z.object({
  by: z.object({ id: wellFormed, name: wellFormed.optional() }).optional(),
  via: via.optional(),
  idempotencyKey: wellFormed.min(1).max(1000).optional(),
})

export const createSessionInput = createSessionBody.extend({
  id: known.optional(),
  source: wellFormed.optional(),
  ...origin.shape,
})

/** The library's calls take the bodies of the HTTP routes, and what those have from their address and headers. */
export const openInput = openBody.extend({
  sessionId: known,
  idempotencyKey: origin.shape.idempotencyKey,
  anchorTo: id.optional(),
  agentThread: id.optional(),
  rendezvous: z.boolean().optional(),
  turnId: id.optional(),
  responseId: id.optional(),
  agentId: id.optional(),
  edit: z.enum(['inside', 'outside', 'plan_file', 'none']).optional(),
  openedBy: id.optional(),
  source: requestSource.optional(),
  claimAs: id.optional(),
  role: z.enum(['agent', 'person']).optional(),
})

const target = { ...origin.shape, sessionId: known.optional(), interactionId: known }

export const respondInput = respondBody.extend(target)
export const cancelInput = z.object({ ...target, message: wellFormed.optional() })

export const claimInput = interaction.pick({ sessionId: true, interactionId: true, status: true })

export const progressInput = z.object({
  sessionId: known,
  interactionId: known,
  answers: json,
  idempotencyKey: origin.shape.idempotencyKey,
})

export const reportInput = z.object({
  sessionId: known,
  events: json,
  idempotencyKey: origin.shape.idempotencyKey,
})

export const reportToolCallInput = toolCallBody.extend({
  sessionId: known,
  source: toolCallSource.optional(),
  idempotencyKey: origin.shape.idempotencyKey,
})

const ofToolCall = { ...origin.shape, sessionId: known }
const approval = z.literal('approval')

/** The question or approval of a tool call. */
export const answerToolCallInput = z.discriminatedUnion('kind', [
  submitAnswersBody.extend({ ...ofToolCall, kind: z.literal('question') }),
  z.discriminatedUnion('decision', [
    approveBody.extend({ ...ofToolCall, kind: approval, decision: z.literal('approve') }),
    denyBody.extend({ ...ofToolCall, kind: approval, decision: z.literal('deny') }),
  ]),
])

export const messageInput = messageBody.extend({
  ...origin.shape,
  by: origin.shape.by.unwrap(),
  sessionId: known,
})

/** A part of a session's log. */
export const eventsInput = z.object({
  after: z.int().min(0).optional(),
  before: z.int().min(0).optional(),
  limit: z.int().min(1),
})

export const page = z.object({
  after: z
    .string()
    .regex(/^\d{1,16}$/, 'is no cursor')
    .optional(),
  limit: z.int().min(1).max(1000).optional(),
  sessionId: known.optional(),
})
