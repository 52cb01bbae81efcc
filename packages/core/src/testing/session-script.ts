import type { EventOf, NewEvent, SessionEvent } from '@askback/protocol'
import type { Append } from '../store/store.js'

let clock = 1_700_000_000_000

/** Makes the events of one session as a desk would, so that a test states only what matters to it. */
export class SessionScript {
  readonly sessionId: string
  seq = 0

  constructor(sessionId: string) {
    this.sessionId = sessionId
  }

  /** Returns an append that continues the log with these events. */
  next(...events: NewEvent[]): Append {
    const expectedSeq = this.seq
    return { sessionId: this.sessionId, expectedSeq, events: events.map((event) => this.#complete(event)) }
  }

  /** Returns an append that the script does not count as part of the log, because it is meant to fail. */
  attempt(expectedSeq: number, ...events: NewEvent[]): Append {
    const { seq } = this
    this.seq = expectedSeq
    const append = this.next(...events)
    this.seq = seq
    return append
  }

  start(fields: Partial<EventOf<'session_started'>> = {}): Append {
    return this.next({ type: 'session_started', agent: null, permissionMode: 'default', ...fields })
  }

  #complete(event: NewEvent): SessionEvent {
    this.seq += 1
    clock += 1
    const { sessionId, seq } = this
    return { ...event, seq, id: `${sessionId}-${seq}-${clock}`, sessionId, at: clock }
  }
}

/** The event of a text. */
export function text(content: string): NewEvent {
  return { type: 'text', blockId: `block of ${content}`, text: content }
}

/** The events of a question. */
export function ask(
  interactionId: string,
  fields: Partial<EventOf<'interaction_request'>> = {},
): [NewEvent, NewEvent] {
  const { toolCallId = `call-${interactionId}`, expiresAt, turnId, responseId } = fields
  const shared = {
    interactionId,
    toolCallId,
    toolName: 'Ask',
    presentation: 'questionnaire' as const,
    ...(expiresAt !== undefined && { expiresAt }),
    ...(turnId !== undefined && { turnId }),
    ...(responseId !== undefined && { responseId }),
  }
  return [
    { ...shared, type: 'interaction_pending', pending: true, reason: 'requested' },
    {
      ...shared,
      type: 'interaction_request',
      kind: 'question',
      request: { about: interactionId },
      digest: `digest of ${interactionId}`,
      requestedAt: clock,
      onTimeout: 'deny',
      ...fields,
    },
  ]
}

/** The events of an answer. */
export function answer(
  interactionId: string,
  fields: Partial<EventOf<'interaction_response'>> = {},
): [NewEvent, NewEvent] {
  const { toolCallId = `call-${interactionId}`, settlement = 'answered' } = fields
  const shared = { interactionId, toolCallId, toolName: 'Ask' }
  return [
    {
      ...shared,
      type: 'interaction_response',
      kind: 'question',
      digest: `digest of ${interactionId}`,
      settlement,
      ...fields,
    },
    {
      ...shared,
      type: 'interaction_pending',
      pending: false,
      presentation: 'questionnaire',
      reason: settlement,
    },
  ]
}

/** The event of a question that is answered in part. */
export function progress(interactionId: string, answers: string[]): NewEvent {
  return { type: 'interaction_progress', interactionId, answers }
}

/** The event of a claim. */
export function deliver(interactionId: string): NewEvent {
  return { type: 'interaction_delivered', interactionId, toolCallId: `call-${interactionId}`, to: 'waiter' }
}

/** The event of a tool call. */
export function toolCall(toolCallId: string): NewEvent {
  return { type: 'tool_call', toolCallId, toolName: 'Run', input: { command: toolCallId } }
}

/** The event of the result of a tool call. */
export function toolResult(toolCallId: string): NewEvent {
  return { type: 'tool_result', toolCallId, output: 'done', isError: false }
}
