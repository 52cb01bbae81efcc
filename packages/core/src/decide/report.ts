import {
  AGENT_ASKS,
  AGENT_DECIDES,
  AskbackError,
  isOfKind,
  type Interaction,
  type Json,
  type NewEvent,
  type NewEventOf,
  type SessionState,
} from '@askback/protocol'
import { optional } from '../optional.js'
import {
  mergeParts,
  type Command,
  type Context,
  type Decision,
  type PartialDecision,
  type ReportedEvent,
} from './command.js'
import { ReportDedupe } from './report-dedupe.js'
import { cancelPending } from './settle.js'

/** Limit of a stored tool output, in bytes of UTF-8. Longer output is cut; `truncated` in the log has the full length. */
export const MAX_OUTPUT_BYTES = 256 * 1024

/** Error code for a lost agent process. The agent can be resumed, so pending interactions stay pending (L8, L10). */
export const AGENT_LOST = 'agent_lost' as const

/** Codes of errors after which the turn continues, so that nothing pending is cancelled. */
const CODES_THAT_CANCEL_NOTHING = new Set<string>([
  AGENT_LOST,
  'agent_retries',
  AGENT_DECIDES,
  AGENT_ASKS,
  'approval_unused',
  'plan_missing',
])

/** Logs what an agent did, in the reported order. Drops repeats, because an adapter may report the same thing twice. */
export function report(
  state: SessionState,
  command: Extract<Command, { type: 'report' }>,
  context: Context,
): Decision {
  const dedupe = new ReportDedupe(state, context)
  const endsTurn = command.events.some(({ type }) => type === 'turn_ended')
  const events = endsTurn ? command.events : command.events.filter((event) => !mustWait(state, event))
  // The append writes `seq`, `id` and `at` into its events, and the command may be decided again after a conflict: copy them.
  return mergeParts(...events.map((event) => decideEvent(state, { ...event }, dedupe, context)))
}

/**
 * A partial result comes from a call whose agent was lost. It is not logged while the turn continues and the call has an
 * interaction: a result would cancel that interaction (L7), but the agent that resumes the turn still needs its answer (L10).
 */
function mustWait({ interactions }: SessionState, event: ReportedEvent): boolean {
  if (event.type !== 'tool_result' || !event.partial) return false
  return [...interactions.values()].some(({ toolCallId }) => toolCallId === event.toolCallId)
}

function decideEvent(
  state: SessionState,
  event: ReportedEvent,
  dedupe: ReportDedupe,
  context: Context,
): PartialDecision {
  switch (event.type) {
    case 'tool_call':
      return { events: dedupe.isNewCall(event.toolCallId) ? [event] : [] }
    case 'tool_result':
      return endCall(state, event, dedupe, context)
    case 'error': {
      if (CODES_THAT_CANCEL_NOTHING.has(event.code)) return { events: [event] }
      const message = `The agent failed: ${event.message}`
      return mergeParts(
        cancelPending(state, { message }, context, (item) => dedupe.isFirstCancel(item)),
        { events: [event] },
      )
    }
    case 'agent_session':
      return { events: dedupe.isNewAgentSession(event.agentSessionId) ? [event] : [] }
    case 'context_cleared':
      return { events: dedupe.hasContextToClear() ? [event] : [] }
    case 'turn_started':
      return { events: dedupe.isNewTurn(event.turnId) ? [event] : [] }
    case 'turn_ended':
      return { events: dedupe.isFirstEndOfTurn(event.turnId) ? [event] : [] }
    case 'text':
    case 'thinking':
      return { events: dedupe.isNewBlock(event) ? [event] : [] }
  }
}

/**
 * Agents report a call that was denied as a failed call. This adds how it was really settled, in one place for adapters, hooks
 * and HTTP. An interaction with another tool name was opened by a script inside the call and is not about the call; one whose tool name
 * is its kind was opened without a tool name and is.
 */
function withSettlement(
  state: SessionState,
  event: NewEventOf<'tool_result'>,
  toolName = state.toolCalls.get(event.toolCallId)?.toolName,
): NewEventOf<'tool_result'> {
  if (!event.isError || event.settledBy !== undefined) return event
  const decided = [...state.interactions.values()].findLast(
    (item) =>
      item.toolCallId === event.toolCallId &&
      (item.toolName === toolName || item.toolName === item.kind) &&
      item.anchor === 'exact' &&
      item.settlement !== 'superseded',
  )
  const settlement = decided?.settlement
  switch (settlement) {
    case 'denied':
      return { ...event, settledBy: decided?.kind === 'plan_review' ? 'adjusted' : 'denied' }
    case 'cancelled':
    case 'timed_out':
      return { ...event, settledBy: settlement }
    case 'answered':
    case 'approved':
    case 'superseded':
    case undefined:
      return event
    default:
      return settlement satisfies never
  }
}

function endCall(
  state: SessionState,
  event: NewEventOf<'tool_result'>,
  dedupe: ReportDedupe,
  context: Context,
): PartialDecision {
  const { toolCallId } = event
  const events: NewEvent[] = []
  const placeholder = dedupe.knowsCall(toolCallId) ? null : dedupe.placeholderOf(toolCallId)
  if (placeholder !== null) {
    if (!placeholder)
      throw new AskbackError('not_found', `There is no tool call ${toolCallId} in this session.`)
    dedupe.isNewCall(toolCallId)
    events.push(toolCallOf(placeholder))
  }
  if (!dedupe.isFirstResult(toolCallId)) return { events: [] }
  events.push(truncateOutput(withSettlement(state, event, placeholder?.toolName)))
  return mergeParts({ events }, cancelInteractionsOf(state, event, dedupe, context))
}

/** The tool call of an interaction, for a call that was never reported. */
function toolCallOf(item: Interaction): NewEventOf<'tool_call'> {
  const { toolCallId, toolName, turnId, responseId } = item
  const input = isOfKind(item, 'approval') ? item.request.input : item.request
  return { type: 'tool_call', toolCallId, toolName, input, ...optional({ turnId, responseId }) }
}

/** L7: a call that has ended needs no answer. A matched interaction only runs inside this call and stays pending. */
function cancelInteractionsOf(
  state: SessionState,
  { toolCallId, isError }: NewEventOf<'tool_result'>,
  dedupe: ReportDedupe,
  context: Context,
): PartialDecision {
  const message = isError ? 'The tool call failed.' : 'The tool call ended.'
  return cancelPending(
    state,
    { message },
    context,
    (item) => item.toolCallId === toolCallId && item.anchor !== 'matched' && dedupe.isFirstCancel(item),
  )
}

export function truncateOutput(event: NewEventOf<'tool_result'>): NewEventOf<'tool_result'> {
  const text = typeof event.output === 'string' ? event.output : JSON.stringify(event.output)
  const bytes = new TextEncoder().encode(text)
  if (bytes.length <= MAX_OUTPUT_BYTES) return event
  return { ...event, output: cutToLimit(bytes), truncated: bytes.length }
}

function cutToLimit(bytes: Uint8Array): Json {
  let end = MAX_OUTPUT_BYTES
  // Cut before a character, not inside it: the continuation bytes of UTF-8 begin with the bits 10.
  while ((bytes[end]! & 0xc0) === 0x80) end--
  return new TextDecoder().decode(bytes.subarray(0, end))
}
