import * as z from 'zod'
import { approvalScope } from './approval.js'
import { sessionEvent, toolCallSource, type NewEventOf } from './events.js'
import { requestNote, requestSource, via } from './interaction.js'
import { json } from './json.js'
import { permissionMode } from './session.js'

/** UTF-8 cannot represent a lone surrogate, so the log could not store it. */
export const wellFormed = z.string().refine((value) => value.isWellFormed(), 'holds a lone surrogate')
/** An id that is stored. */
const id = wellFormed.min(1).max(500)
/** An id that is only looked up: if there is nothing of that id, the answer is `not_found`. */
const lookupId = z.string()
/** Where in the agent's work it belongs. */
const turnPosition = { turnId: id.optional(), responseId: id.optional() }

/** Tags of a session. A name begins with a letter, so that none is a name like `__proto__`. */
export const sessionTagsInput = z
  .record(
    z.string().regex(/^[A-Za-z][\w.-]{0,62}$/, 'must be letters, digits, "_", "." or "-"'),
    wellFormed.max(200),
  )
  .refine((tags) => Object.keys(tags).length <= 32, 'must be at most 32 tags')

// The bodies of the HTTP routes. The inputs of the library's calls, below, extend them.

/** A session to make. */
export const createSessionBody = z.object({
  agent: wellFormed.nullable().optional(),
  cwd: wellFormed.min(1).optional(),
  title: wellFormed.max(500).optional(),
  permissionMode: permissionMode.optional(),
  model: wellFormed.optional(),
  tags: sessionTagsInput.optional(),
})

/** What to ask. */
export const openBody = z.object({
  kind: z.string(),
  toolName: id.optional(),
  toolCallId: id.optional(),
  /** Returns the newest interaction that asks the same about this tool call, if there is one (L11). */
  attach: z.boolean().optional(),
  request: json,
  /** Milliseconds until the deadline; `null` for none. The desk has a default (L5). */
  timeoutMs: z.number().nullable().optional(),
  onTimeout: json.optional(),
})

/** An answer. */
export const respondBody = z.object({
  answer: json,
  digest: z.string().optional(),
  /**
   * Sent by a caller that knows the tool call but not which request the person has seen: `ambiguous` if the call has had
   * requests with different digests.
   */
  toolCallId: z.string().optional(),
})

/** A text of a person. */
export const messageBody = z.object({
  text: wellFormed,
  /** `agent` skips text routing; `interaction` fails if nothing pending takes a text. */
  route: z.enum(['auto', 'agent', 'interaction']).optional(),
  interactionId: id.optional(),
  questionIndex: z.int().min(0).optional(),
})

/** Where a message went. `log`: the session has no agent that would read it, so it is only recorded. */
export const routedMessage = z.object({
  routed: z.enum(['agent', 'interaction', 'log']),
  interactionId: z.string().optional(),
})

/** A tool call of an outside agent. */
export const toolCallBody = z.object({
  toolCallId: id.optional(),
  toolName: id,
  input: json,
  ...turnPosition,
})

/** The result of a tool call. */
export const toolResultBody = z.object({ output: json, isError: z.boolean().optional() })

/** Which request of the tool call the person has seen: needed once the call has had requests with different digests. */
const seenRequest = { digest: z.string().optional(), interactionId: z.string().optional() }

/** Answers to the questions of a tool call, by the index of each question. */
export const submitAnswersBody = z.object({
  toolCallId: id,
  answers: z.record(z.string(), json),
  ...seenRequest,
})

/** Approves the call of a tool. */
export const approveBody = z.object({
  toolCallId: id,
  scope: approvalScope.optional(),
  updatedInput: json.optional(),
  ...seenRequest,
})

/** Denies the call of a tool. */
export const denyBody = z.object({ toolCallId: id, message: wellFormed.optional(), ...seenRequest })

/** The permission mode that a session is to have. */
export const permissionModeBody = z.object({ mode: permissionMode })

/** All tags that the session is to have. */
export const sessionTagsBody = z.object({ tags: sessionTagsInput })

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

/** A session that an agent has run elsewhere, with its history. */
export const adoptBody = adoptHead.extend({ items: z.array(adoptedItem) })

export type CreateSessionBody = z.infer<typeof createSessionBody>
export type OpenBody = z.infer<typeof openBody>
export type MessageBody = z.infer<typeof messageBody>
/** Where a message went. */
export type MessageRoute = z.infer<typeof routedMessage>
export type ToolCallBody = z.infer<typeof toolCallBody>
export type ToolResultBody = z.infer<typeof toolResultBody>
export type AdoptedItem = z.infer<typeof adoptedItem>
export type AdoptBody = z.infer<typeof adoptBody>

// The inputs of the library's calls: the body of the route, and what the route takes from its address and headers.

/** Who makes the calls. It is bound once, with `desk.as`, so it is no part of the inputs below. */
export const callerInput = z.object({
  by: z.object({ id: wellFormed, name: wellFormed.optional() }).optional(),
  via: via.optional(),
  id: id.optional(),
  role: z.enum(['agent', 'person']).optional(),
  fence: z.object({ key: z.string(), version: z.number() }).optional(),
})

/** What every call has that may be repeated. */
export const repeatable = z.object({
  /** A repeated call with the same key takes effect once. Keys are scoped to the session. */
  idempotencyKey: wellFormed.min(1).max(1000).optional(),
})

/** A session to make, with the id that it is to have. */
export const createSessionInput = createSessionBody.extend({
  id: lookupId.optional(),
  source: wellFormed.optional(),
  ...repeatable.shape,
})

/** What to ask, and where it belongs. */
export const openInput = openBody.extend({
  sessionId: lookupId,
  ...repeatable.shape,
  /** The tool call named by the caller's environment. `toolCallId` of the request has priority. */
  anchorTo: id.optional(),
  /** The agent's own session, named by the caller's environment. The request is refused if this session belongs to another one. */
  agentThread: id.optional(),
  /** If no tool call is named, searches the recorded ones for the call that this request belongs to. */
  rendezvous: z.boolean().optional(),
  ...turnPosition,
  /** The subagent that asks. */
  agentId: id.optional(),
  /** What the tool would write to, relative to the session's folder, if the adapter knows. Otherwise its name and input tell. */
  edit: z.enum(['inside', 'outside', 'plan_file', 'none']).optional(),
  source: requestSource.optional(),
  /** What the person must know about the request, in words of the gateway. */
  notes: z.array(requestNote).optional(),
  /**
   * Claims the settlement for the caller if a permission mode or a rule settles the interaction at once (L10).
   *
   * @default false
   */
  claim: z.boolean().optional(),
})

const interactionTarget = { ...repeatable.shape, sessionId: lookupId.optional(), interactionId: lookupId }

/** An answer, and the interaction that it is for. */
export const respondInput = respondBody.extend(interactionTarget)
/** Cancels an interaction. */
export const cancelInput = z.object({ ...interactionTarget, message: wellFormed.optional() })

/** The answers so far, of a question that is answered one part at a time. */
export const progressInput = z.object({
  sessionId: lookupId,
  interactionId: lookupId,
  answers: json,
  ...repeatable.shape,
})

/** What an agent reports about its own work. */
export const reportInput = z.object({
  sessionId: lookupId,
  events: json,
  ...repeatable.shape,
})

/** A tool call of an outside agent, and its session. */
export const reportToolCallInput = toolCallBody.extend({
  sessionId: lookupId,
  source: toolCallSource.optional(),
  ...repeatable.shape,
})

const toolCallTarget = { ...repeatable.shape, sessionId: lookupId }

/** An answer to the question or the approval of a tool call, by the id of that call. */
export const answerToolCallInput = z.discriminatedUnion('kind', [
  submitAnswersBody.extend({ ...toolCallTarget, kind: z.literal('question') }),
  z.discriminatedUnion('decision', [
    approveBody.extend({ ...toolCallTarget, kind: z.literal('approval'), decision: z.literal('approve') }),
    denyBody.extend({ ...toolCallTarget, kind: z.literal('approval'), decision: z.literal('deny') }),
  ]),
])

/** A text of a person, and its session. */
export const messageInput = messageBody.extend({
  ...repeatable.shape,
  sessionId: lookupId,
})

export type OpenInput = z.infer<typeof openInput>
/** Options of a call that may be repeated. */
export type Repeatable = z.infer<typeof repeatable>

/** Selects a part of a session's log. */
export const eventsInput = z.object({
  after: z.int().min(0).optional(),
  before: z.int().min(0).optional(),
  limit: z.int().min(1),
})

/** Selects a page of a list; `after` is the `next` of the page before. */
export const pageInput = z.object({
  after: z
    .string()
    .regex(/^\d{1,16}$/, 'is no cursor')
    .optional(),
  limit: z.int().min(1).max(1000).optional(),
  sessionId: lookupId.optional(),
})

// What agents report.

/** What an agent may report about its own work. Everything else in the log is decided by the desk. */
export type ReportedEvent = NewEventOf<
  | 'turn_started'
  | 'turn_ended'
  | 'text'
  | 'thinking'
  | 'tool_call'
  | 'tool_result'
  | 'agent_session'
  | 'context_cleared'
  | 'error'
>

const reportedTypes: Record<ReportedEvent['type'], true> = {
  turn_started: true,
  turn_ended: true,
  text: true,
  thinking: true,
  tool_call: true,
  tool_result: true,
  agent_session: true,
  context_cleared: true,
  error: true,
}

const reportedSchemas = new Map<string, z.ZodObject>()
for (const option of sessionEvent.options) {
  const type = option.shape.type.value
  // The log assigns these four; an agent must not choose them.
  if (type in reportedTypes)
    reportedSchemas.set(
      type,
      (option as z.ZodObject).omit({ seq: true, id: true, sessionId: true, at: true }),
    )
}

/** Events that an agent reports. Other types are refused; unknown fields are dropped. */
export const reported = z.array(
  z.unknown().transform((value, context): ReportedEvent => {
    const type = typeof value === 'object' && value !== null && 'type' in value ? value.type : undefined
    const schema = typeof type === 'string' ? reportedSchemas.get(type) : undefined
    if (!schema) {
      context.addIssue({ code: 'custom', message: 'is nothing that an agent reports' })
      return z.NEVER
    }
    const parsed = schema.safeParse(value)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- parsed with the schema of its type
    if (parsed.success) return parsed.data as ReportedEvent
    for (const { path, message } of parsed.error.issues) context.addIssue({ code: 'custom', path, message })
    return z.NEVER
  }),
)
