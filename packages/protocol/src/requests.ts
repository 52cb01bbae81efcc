import { z } from 'zod'
import { approvalScope } from './approval.js'
import { toolCallSource } from './events.js'
import { interaction, requestSource, via } from './interaction.js'
import { json } from './json.js'
import { permissionMode } from './session.js'

/** UTF-8 cannot represent a lone surrogate, so the log could not store it. */
export const wellFormed = z.string().refine((value) => value.isWellFormed(), 'holds a lone surrogate')
/** An id that is stored. */
const id = wellFormed.min(1).max(500)
/** An id that is only looked up: if there is nothing of that id, the answer is `not_found`. */
const lookupId = z.string()

// The bodies of the HTTP routes. The inputs of the library's calls, below, extend them.

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
  /**
   * Sent by a caller that knows the tool call but not which request the person has seen: `ambiguous` if the call has had
   * requests with different digests.
   */
  toolCallId: z.string().optional(),
})

export const messageBody = z.object({
  text: wellFormed,
  route: z.enum(['auto', 'agent', 'interaction']).optional(),
  interactionId: id.optional(),
  questionIndex: z.int().min(0).optional(),
})

/** Where a message went. `log`: the session has no agent that would read it, so it is only recorded. */
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

/** Which request of the tool call the person has seen: needed once the call has had requests with different digests. */
const seenRequest = { digest: z.string().optional(), interactionId: z.string().optional() }

export const submitAnswersBody = z.object({
  toolCallId: id,
  answers: z.record(z.string(), json),
  ...seenRequest,
})

export const approveBody = z.object({
  toolCallId: id,
  scope: approvalScope.optional(),
  updatedInput: json.optional(),
  ...seenRequest,
})

export const denyBody = z.object({ toolCallId: id, message: wellFormed.optional(), ...seenRequest })

export const permissionModeBody = z.object({ mode: permissionMode })

// Adoption: continuing a session that an agent has run elsewhere.

/** Epoch milliseconds. */
const at = z.number()
const adoptedId = z.string().min(1).max(500)

/** A session that an agent has run outside of this gateway. */
const adoptHead = z.object({
  /** The adapter that continues it. */
  agent: z.string().min(1),
  agentSessionId: adoptedId,
  cwd: z.string().optional(),
  title: z.string().optional(),
  /** The session of this gateway in which its scripts have asked so far. */
  from: adoptedId.optional(),
})

/** One entry of its history; the entries are sent in the order in which they happened. */
export const adoptedItem = z.discriminatedUnion('type', [
  z.object({ type: z.literal('user_message'), at, text: z.string() }),
  z.object({ type: z.literal('text'), at, text: z.string() }),
  z.object({ type: z.literal('thinking'), at, text: z.string() }),
  z.object({ type: z.literal('tool_call'), at, toolCallId: adoptedId, toolName: z.string(), input: json }),
  z.object({
    type: z.literal('tool_result'),
    at,
    toolCallId: adoptedId,
    output: json,
    isError: z.boolean(),
    /** The size in bytes of the whole output, if `output` is only a part of it. */
    truncated: z.int().min(0).optional(),
  }),
])

export const adoptBody = adoptHead.extend({ items: z.array(adoptedItem) })

export type CreateSessionBody = z.infer<typeof createSessionBody>
export type OpenBody = z.infer<typeof openBody>
export type MessageBody = z.infer<typeof messageBody>
export type Routed = z.infer<typeof routedMessage>
export type ToolCallBody = z.infer<typeof toolCallBody>
export type AdoptedItem = z.infer<typeof adoptedItem>
export type AdoptBody = z.infer<typeof adoptBody>

// The inputs of the library's calls: the body of the route, and what the route takes from its address and headers.

/** Who makes a call, and the idempotency key that makes repeated calls count once. */
export const origin = z.object({
  by: z.object({ id: wellFormed, name: wellFormed.optional() }).optional(),
  via: via.optional(),
  idempotencyKey: wellFormed.min(1).max(1000).optional(),
})

export const createSessionInput = createSessionBody.extend({
  id: lookupId.optional(),
  source: wellFormed.optional(),
  ...origin.shape,
})

export const openInput = openBody.extend({
  sessionId: lookupId,
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

const target = { ...origin.shape, sessionId: lookupId.optional(), interactionId: lookupId }

export const respondInput = respondBody.extend(target)
export const cancelInput = z.object({ ...target, message: wellFormed.optional() })

export const claimInput = interaction.pick({ sessionId: true, interactionId: true, status: true })

export const progressInput = z.object({
  sessionId: lookupId,
  interactionId: lookupId,
  answers: json,
  idempotencyKey: origin.shape.idempotencyKey,
})

export const reportInput = z.object({
  sessionId: lookupId,
  events: json,
  idempotencyKey: origin.shape.idempotencyKey,
})

export const reportToolCallInput = toolCallBody.extend({
  sessionId: lookupId,
  source: toolCallSource.optional(),
  idempotencyKey: origin.shape.idempotencyKey,
})

const ofToolCall = { ...origin.shape, sessionId: lookupId }
const approvalKindLiteral = z.literal('approval')

/** An answer to the question or the approval of a tool call, by the id of that call. */
export const answerToolCallInput = z.discriminatedUnion('kind', [
  submitAnswersBody.extend({ ...ofToolCall, kind: z.literal('question') }),
  z.discriminatedUnion('decision', [
    approveBody.extend({ ...ofToolCall, kind: approvalKindLiteral, decision: z.literal('approve') }),
    denyBody.extend({ ...ofToolCall, kind: approvalKindLiteral, decision: z.literal('deny') }),
  ]),
])

export const messageInput = messageBody.extend({
  ...origin.shape,
  by: origin.shape.by.unwrap(),
  sessionId: lookupId,
})

/** Selects a part of a session's log. */
export const eventsInput = z.object({
  after: z.int().min(0).optional(),
  before: z.int().min(0).optional(),
  limit: z.int().min(1),
})

/** Selects a page of a list; `after` is the `next` of the page before. */
export const page = z.object({
  after: z
    .string()
    .regex(/^\d{1,16}$/, 'is no cursor')
    .optional(),
  limit: z.int().min(1).max(1000).optional(),
  sessionId: lookupId.optional(),
})

// The headers and keys of browser logins. Cookies ignore ports: a server on another port of the same host receives ours. So
// a login has two secrets. The cookie names the login; the proof stays in the local storage of the page's own origin, and
// shows that a request comes from that page.

/** The header that carries the proof. */
export const PROOF_HEADER = 'askback-proof'

/** Where a page stores the response of `POST /api/login`, as JSON, in the local storage of its origin. */
export const LOGIN_STORAGE_KEY = 'askback.login'
