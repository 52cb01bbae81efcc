import * as z from 'zod'
import { AskbackError } from './errors.js'
import {
  actor,
  anchor,
  asker,
  onTimeout,
  presentation,
  requestSource,
  settlementKind,
  via,
} from './interaction.js'
import { json } from './json.js'
import { permissionMode, sessionStatus, sessionTags } from './session.js'

const id = z.string().min(1)
const offset = z.int().min(0)

/** What every event has, whatever its type. `at` is epoch milliseconds of server time. */
const envelope = z.object({
  seq: z.int().min(1),
  id,
  sessionId: id,
  at: z.number(),
  turnId: id.optional(),
  responseId: id.optional(),
})

function event<Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) {
  return envelope.extend({ type: z.literal(type), ...shape })
}

/** In an adopted session: the interaction that this one is a copy of. The original is settled and counted in its own session. */
const copyOf = id.optional()
const anchored = { interactionId: id, toolCallId: id, toolName: z.string(), copyOf }

/** How a tool call was reported: by the agent’s adapter, or from outside. */
export const toolCallSource = z.enum(['agent', ...requestSource.options])

/** Why a call ended with an error although its tool did not fail: a person decided so, nobody answered, or it was interrupted. */
const callSettlement = z.enum(['denied', 'adjusted', 'cancelled', 'timed_out', 'interrupted'])

/** An event of a session's log. */
export const sessionEvent = z.discriminatedUnion('type', [
  event('session_started', {
    agent: z.string().nullable(),
    title: z.string().optional(),
    cwd: z.string().optional(),
    /** The real path of `cwd` when the session was created, with all links followed; `null` if it could not be resolved. */
    realCwd: z.string().nullable().optional(),
    model: z.string().optional(),
    permissionMode,
    source: z.string().optional(),
    tags: sessionTags.optional(),
    /** Who created the session, and with it chose its permission mode. */
    by: actor.optional(),
    via: via.optional(),
  }),
  event('user_message', { text: z.string(), by: actor }),
  event('turn_started', { turnId: id }),
  event('turn_ended', {
    turnId: id,
    reason: z.enum(['done', 'error', 'interrupted']),
    /** Set where neither a person nor the agent ended the turn: the agent's process was lost. */
    cause: z.enum(['agent_lost']).optional(),
    /** What the turn cost, if the agent reports it. */
    usage: z
      .object({
        costUsd: z.number().optional(),
        inputTokens: z.number().optional(),
        outputTokens: z.number().optional(),
      })
      .optional(),
  }),
  event('text', { blockId: id, text: z.string(), partial: z.boolean().optional() }),
  event('thinking', { blockId: id, text: z.string(), partial: z.boolean().optional() }),
  event('tool_call', {
    toolCallId: id,
    toolName: z.string(),
    input: json,
    parentToolCallId: id.optional(),
    source: toolCallSource.optional(),
    partial: z.boolean().optional(),
  }),
  event('tool_result', {
    toolCallId: id,
    output: json,
    isError: z.boolean(),
    truncated: z.number().optional(),
    partial: z.boolean().optional(),
    settledBy: callSettlement.optional(),
  }),
  event('interaction_pending', {
    ...anchored,
    pending: z.boolean(),
    presentation,
    reason: z.union([z.enum(['requested', 'reprompted']), settlementKind]),
    expiresAt: z.number().optional(),
  }),
  event('interaction_request', {
    ...anchored,
    kind: z.string(),
    presentation,
    request: json,
    digest: z.string(),
    requestedAt: z.number(),
    expiresAt: z.number().optional(),
    onTimeout,
    errors: z.record(z.string(), z.string()).optional(),
    progress: json.optional(),
    repromptOf: id.optional(),
    ...asker,
    anchor: anchor.optional(),
  }),
  event('interaction_progress', { interactionId: id, answers: json }),
  event('interaction_response', {
    ...anchored,
    kind: z.string(),
    digest: z.string(),
    settlement: settlementKind,
    answer: json.optional(),
    message: z.string().optional(),
    by: actor.optional(),
    via: via.optional(),
    updatedDigest: z.string().optional(),
    supersededBy: id.optional(),
    /** The rule that this approval stored. */
    ruleId: z.string().optional(),
  }),
  event('interaction_delivered', { interactionId: id, toolCallId: id, to: z.string(), copyOf }),
  event('session_status', {
    status: sessionStatus,
    permissionMode,
    /** Who changed the mode or deleted the session; absent if only the status changed. */
    by: actor.optional(),
    via: via.optional(),
  }),
  /** The session has these tags from now on, and no others. */
  event('session_tags', {
    tags: sessionTags,
    /** Missing in logs of older versions. */
    before: sessionTags.optional(),
    by: actor.optional(),
    via: via.optional(),
  }),
  event('agent_session', { agentSessionId: id }),
  event('context_cleared', { by: actor.optional() }),
  event('error', { code: z.string(), message: z.string(), fatal: z.boolean() }),
])

/** Sent to clients while a block is being written, and never stored: the finished block is one event of the log. */
export const liveEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text_delta'), blockId: id, offset, text: z.string() }),
  z.object({ type: z.literal('thinking_delta'), blockId: id, offset, text: z.string() }),
  z.object({
    type: z.literal('tool_call_delta'),
    toolCallId: id,
    toolName: z.string(),
    offset,
    partialInput: z.string(),
  }),
  z.object({ type: z.literal('tool_output_delta'), toolCallId: id, offset, text: z.string() }),
])

export type SessionEvent = z.infer<typeof sessionEvent>
export type LiveEvent = z.infer<typeof liveEvent>
/** The type of an event. */
export type EventType = SessionEvent['type']
/** The event of a type. */
export type EventOf<Type extends EventType> = Extract<SessionEvent, { type: Type }>

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

/** An event before the log gives it `seq`, `id` and time. */
export type NewEvent = DistributiveOmit<SessionEvent, 'seq' | 'id' | 'sessionId' | 'at'>
/** The event of a type, before the log gives it `seq`, `id` and time. */
export type NewEventOf<Type extends EventType> = Extract<NewEvent, { type: Type }>

/** Whether the event is a copy of one in another session, made when that was adopted. */
export function isCopy(event: SessionEvent): boolean {
  return 'copyOf' in event && event.copyOf !== undefined
}

const knownTypes = new Set<string>(sessionEvent.options.map((option) => option.shape.type.value))

/**
 * Checks an event that came from another process, and returns it as it is. Of an event type that this version does not know
 * only the envelope is checked: `reduce` advances `seq` for it and changes nothing else. Throws `invalid_request`.
 */
export function parseEvent(value: unknown): SessionEvent {
  const type = typeof value === 'object' && value !== null && 'type' in value ? value.type : undefined
  const schema = typeof type === 'string' && !knownTypes.has(type) ? envelope : sessionEvent
  const parsed = schema.safeParse(value)
  if (!parsed.success) {
    throw new AskbackError('invalid_request', `Not a session event: ${z.prettifyError(parsed.error)}`)
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- checked above; readers ignore types that they do not know
  return value as SessionEvent
}
