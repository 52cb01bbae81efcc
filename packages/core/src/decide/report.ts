import {
  AskbackError,
  type ApprovalRequest,
  type Interaction,
  type Json,
  type NewEvent,
  type NewEventOf,
  type SessionState,
} from '@askback/protocol'
import { optional } from '../optional.js'
import { cancelAll, together, type Part } from './close-pending.js'
import type { Command, Context, Decision, Reported } from './command.js'
import { Told } from './told.js'

/** Stored output of a tool, in bytes; what is beyond is cut, and the log says how much there was. */
export const MAX_OUTPUT_BYTES = 256 * 1024

/** An adapter lost its agent's process: not an error of the agent's own, so what is pending stays pending (L8, L10). */
export const AGENT_LOST = 'agent_lost' as const

/** Told to a person while the agent goes on, so that nothing else is cancelled either. */
const GOES_ON = new Set([AGENT_LOST, 'agent_retries', 'agent_decides', 'approval_unused', 'plan_missing'])

/** What an agent did, in the order it says. Repeats are dropped: an adapter may tell the same thing twice. */
export function report(
  state: SessionState,
  command: Extract<Command, { type: 'report' }>,
  context: Context,
): Decision {
  const told = new Told(state, context)
  const endsTurn = command.events.some(({ type }) => type === 'turn_ended')
  const events = endsTurn ? command.events : command.events.filter((event) => !isOnHold(state, event))
  // Copies: an append takes its events for its own, and this may be decided again for another.
  return together(...events.map((event) => effectOf(state, { ...event }, told, context)))
}

/**
 * What a call has put out until its agent was lost is its result, unless something was asked about it in a turn that goes
 * on: who takes that up still has to hear what was said (L10), and nothing has ended that an answer would be too late for (L7).
 */
function isOnHold({ interactions }: SessionState, event: Reported): boolean {
  if (event.type !== 'tool_result' || !event.partial) return false
  return [...interactions.values()].some(({ toolCallId }) => toolCallId === event.toolCallId)
}

function effectOf(state: SessionState, event: Reported, told: Told, context: Context): Part {
  switch (event.type) {
    case 'tool_call':
      return { events: told.call(event.toolCallId) ? [event] : [] }
    case 'tool_result':
      return endCall(state, event, told, context)
    case 'error': {
      if (GOES_ON.has(event.code)) return { events: [event] }
      const message = `The agent failed: ${event.message}`
      return together(
        cancelAll(state, { message }, context, (item) => told.closes(item)),
        { events: [event] },
      )
    }
    case 'agent_session':
      return { events: told.agentSession(event.agentSessionId) ? [event] : [] }
    case 'context_cleared':
      return { events: told.clearContext() ? [event] : [] }
    case 'turn_started':
      return { events: told.startTurn(event.turnId) ? [event] : [] }
    case 'turn_ended':
      return { events: told.endTurn(event.turnId) ? [event] : [] }
    case 'text':
    case 'thinking':
      return { events: told.block(event) ? [event] : [] }
  }
}

/**
 * Agents report a call that was not allowed as an error. The log says what it really was, in one place for adapters,
 * hooks and HTTP. A request that names another tool comes from a script inside the call and says nothing about the call
 * itself; one that names no tool has its kind for a tool name, and is about the call.
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
  switch (decided?.settlement) {
    case 'denied':
      return { ...event, settledBy: decided.kind === 'plan_review' ? 'adjusted' : 'denied' }
    case 'cancelled':
    case 'timed_out':
      return { ...event, settledBy: decided.settlement }
    default:
      return event
  }
}

function endCall(state: SessionState, event: NewEventOf<'tool_result'>, told: Told, context: Context): Part {
  const { toolCallId } = event
  const events: NewEvent[] = []
  const asked = told.knows(toolCallId) ? null : told.placeholder(toolCallId)
  if (asked !== null) {
    if (!asked) throw new AskbackError('not_found', `There is no tool call ${toolCallId} in this session.`)
    told.call(toolCallId)
    events.push(callAskedAbout(asked))
  }
  if (!told.end(toolCallId)) return { events: [] }
  events.push(capped(withSettlement(state, event, asked?.toolName)))
  return together({ events }, cancelOf(state, event, told, context))
}

/** The tool call that a request stands for, where nobody has reported it. */
function callAskedAbout(item: Interaction): NewEventOf<'tool_call'> {
  const { toolCallId, toolName, kind, request, turnId, responseId } = item
  const input = kind === 'approval' ? (request as ApprovalRequest).input : request
  return { type: 'tool_call', toolCallId, toolName, input, ...optional({ turnId, responseId }) }
}

/** L7: whoever asked about exactly this call no longer needs an answer. One that stands for itself is such a call. */
function cancelOf(
  state: SessionState,
  { toolCallId, isError }: NewEventOf<'tool_result'>,
  told: Told,
  context: Context,
): Part {
  const message = isError ? 'The tool call failed.' : 'The tool call ended.'
  return cancelAll(
    state,
    { message },
    context,
    (item) => item.toolCallId === toolCallId && item.anchor !== 'matched' && told.closes(item),
  )
}

export function capped(event: NewEventOf<'tool_result'>): NewEventOf<'tool_result'> {
  const text = typeof event.output === 'string' ? event.output : JSON.stringify(event.output)
  const bytes = new TextEncoder().encode(text)
  if (bytes.length <= MAX_OUTPUT_BYTES) return event
  return { ...event, output: cut(bytes), truncated: bytes.length }
}

function cut(bytes: Uint8Array): Json {
  let end = MAX_OUTPUT_BYTES
  // Not inside a character: continuation bytes begin with 10.
  while ((bytes[end]! & 0xc0) === 0x80) end--
  return new TextDecoder().decode(bytes.subarray(0, end))
}
