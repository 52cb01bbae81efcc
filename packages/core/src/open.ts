import {
  AskbackError,
  canonicalJson,
  copyJson,
  digestOf,
  onTimeout as onTimeoutSchema,
  type ApprovalRequest,
  type Interaction,
  type Json,
  type NewEvent,
  type OpenBody,
  type SessionState,
} from '@askback/protocol'
import type { Context, Decision, OpenCommand, PreparedRequest } from './command.js'
import { parseWith, type InteractionKind } from './kinds.js'
import { judge } from './permissions.js'
import { chooseCall } from './rendezvous.js'
import { optional } from './optional.js'
import { expired, expire, outcomeOf } from './settle.js'
import { delivered, settlement } from './settled-events.js'

export const DEFAULT_TIMEOUT_MS = 10 * 60_000
const encoder = new TextEncoder()
const LONGEST_TIMEOUT_MS = 10 * 365 * 24 * 3_600_000

export function open(state: SessionState, command: OpenCommand, context: Context): Decision {
  const { prepared } = command
  const anchored = anchor(state, command, context)
  if (anchored === 'wait') return { events: [], wait: true }
  const existing = command.attach
    ? latestOf(state, anchored.toolCallId, prepared.kind.kind, context)
    : undefined
  if (existing?.digest === prepared.digest) return attach(state, existing, context)
  if (state.pending.size >= context.maxPending) {
    throw new AskbackError(
      'rate_limited',
      `This session already waits for ${state.pending.size} answers, which is its limit. Answer or cancel some first.`,
    )
  }
  const item = interactionFrom(state, command, anchored, context)
  const superseded = existing?.status === 'pending' ? supersede(existing, item.interactionId, context) : []
  const events = [...superseded, ...request(item)]
  if (allowed(state, prepared, context)) {
    events.push(
      ...settlement(
        item,
        { settlement: 'approved', answer: { decision: 'approve' }, via: 'policy' },
        context,
      ),
    )
    if (command.claimAs !== undefined) events.push(delivered(item, command.claimAs))
  }
  return { events, interactionId: item.interactionId }
}

/** Everything about a request that does not depend on the session: parsed, copied, measured and hashed. */
export function prepareRequest(
  input: Pick<OpenBody, 'kind' | 'toolName' | 'request' | 'timeoutMs' | 'onTimeout'>,
  options: {
    kind: (name: string) => InteractionKind | undefined
    maxBytes: number
    defaultTimeoutMs: number | null
  },
): PreparedRequest {
  const kind = options.kind(input.kind)
  if (!kind) {
    throw new AskbackError('unknown_kind', `Nobody has defined the kind ${JSON.stringify(input.kind)}.`)
  }
  const request = copyJson(input.request, 'request')
  if (encoder.encode(canonicalJson(request)).length > options.maxBytes) {
    throw new AskbackError('too_large', `The request is larger than ${options.maxBytes} bytes.`)
  }
  kind.checkRequest?.(parseWith(kind.request, request, { code: 'invalid_request', what: 'the request' }))
  const toolName = input.toolName ?? kind.kind
  const subject = kind.kind === 'approval' ? (request as ApprovalRequest).input : request
  const { timeoutMs = options.defaultTimeoutMs } = input
  checkTimeout(timeoutMs)
  return {
    kind,
    toolName,
    request,
    digest: digestOf(toolName, subject),
    timeoutMs,
    onTimeout: declared(kind, request, input.onTimeout),
  }
}

function declared(kind: InteractionKind, request: Json, value: unknown): PreparedRequest['onTimeout'] {
  if (value === undefined) return 'deny'
  const parsed = parseWith(onTimeoutSchema, copyJson(value, 'onTimeout'), {
    code: 'invalid_request',
    what: 'onTimeout',
  })
  if (typeof parsed === 'string') return parsed
  const outcome = outcomeOf(kind, request, parsed.answer)
  if (!('errors' in outcome)) return parsed
  throw new AskbackError(
    'invalid_answer',
    'The declared default answer does not pass the form’s own checks.',
    {
      details: { errors: outcome.errors },
    },
  )
}

function checkTimeout(timeoutMs: number | null): void {
  if (timeoutMs === null) return
  if (Number.isInteger(timeoutMs) && timeoutMs > 0 && timeoutMs <= LONGEST_TIMEOUT_MS) return
  throw new AskbackError(
    'invalid_request',
    'timeoutMs must be a whole number of milliseconds above 0 and at most ten years, or null to wait forever.',
  )
}

interface Anchored {
  toolCallId: string
  anchor: NonNullable<Interaction['anchor']>
  turnId?: string | undefined
  responseId?: string | undefined
}

function anchor(state: SessionState, command: OpenCommand, context: Context): Anchored | 'wait' {
  const { anchoring, turnId, responseId } = command
  switch (anchoring.by) {
    case 'id': {
      const call = state.toolCalls.get(anchoring.toolCallId)
      return {
        toolCallId: anchoring.toolCallId,
        anchor: 'exact',
        turnId: turnId ?? call?.turnId,
        responseId: responseId ?? call?.responseId,
      }
    }
    case 'rendezvous': {
      const chosen = chooseCall({
        calls: [...state.toolCalls.values()].map((call) =>
          call.result ? { ...call, endedAt: call.result.at } : call,
        ),
        claimed: claimedCalls(state),
        toolName: command.prepared.toolName,
        now: context.now,
        final: anchoring.waited,
      })
      if (chosen === 'wait') return 'wait'
      if (chosen === null) return { toolCallId: context.newId(), anchor: 'own', turnId, responseId }
      const call = state.toolCalls.get(chosen.toolCallId)
      return {
        toolCallId: chosen.toolCallId,
        anchor: 'matched',
        turnId: call?.turnId,
        responseId: call?.responseId,
      }
    }
    case 'itself':
      return { toolCallId: context.newId(), anchor: 'own', turnId, responseId }
  }
}

function claimedCalls(state: SessionState): Set<string> {
  const claimed = new Set<string>()
  for (const id of state.pending) {
    const item = state.interactions.get(id)!
    if (item.anchor === 'matched') claimed.add(item.toolCallId)
  }
  return claimed
}

/** L11: what an adapter that owns the tool call may attach to. One that was superseded never counts. */
function latestOf(
  state: SessionState,
  toolCallId: string,
  kind: string,
  context: Context,
): Interaction | undefined {
  let latest = context.found
  for (const item of state.interactions.values()) {
    if (item.toolCallId === toolCallId && item.kind === kind && item.settlement !== 'superseded')
      latest = item
  }
  return latest
}

function attach(state: SessionState, existing: Interaction, context: Context): Decision {
  const { interactionId } = existing
  if (existing.status === 'pending' && expired(existing, context.now)) {
    return expire(state, { type: 'expire', interactionId }, context)
  }
  return { events: [], interactionId }
}

function supersede(item: Interaction, supersededBy: string, context: Context): NewEvent[] {
  const [response, , ...claim] = settlement(item, { settlement: 'superseded' }, context)
  return [{ ...response, supersededBy } as NewEvent, ...claim]
}

function interactionFrom(
  state: SessionState,
  command: OpenCommand,
  { turnId, responseId, toolCallId, anchor: how }: Anchored,
  context: Context,
): Interaction {
  const { kind, toolName, request: body, digest, timeoutMs, onTimeout } = command.prepared
  return {
    interactionId: context.newId(),
    sessionId: state.sessionId,
    toolCallId,
    toolName,
    kind: kind.kind,
    presentation: kind.presentation,
    request: body,
    digest,
    status: 'pending',
    requestedAt: context.now,
    onTimeout,
    anchor: how,
    ...optional({
      expiresAt: timeoutMs === null ? undefined : context.now + timeoutMs,
      agentId: command.agentId,
      turnId,
      responseId,
    }),
  }
}

/** L1. */
function request(item: Interaction): NewEvent[] {
  const { interactionId, toolCallId, toolName, presentation, expiresAt, turnId, responseId } = item
  const { sessionId: _, status: __, ...fields } = item
  return [
    {
      type: 'interaction_pending',
      interactionId,
      toolCallId,
      toolName,
      pending: true,
      presentation,
      reason: 'requested',
      ...optional({ expiresAt, turnId, responseId }),
    },
    { type: 'interaction_request', ...fields },
  ]
}

function allowed(state: SessionState, { kind }: PreparedRequest, context: Context): boolean {
  const subject = { kind: kind.kind, edit: context.edit ?? 'none', rule: context.rule ?? false } as const
  return judge({ mode: state.permissionMode, subject }) === 'allow'
}
