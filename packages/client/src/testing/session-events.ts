import type { EventOf, Interaction, Json, NewEvent, SessionEvent } from '@askback/protocol'

/** Gives events their place in one session's log, so that a test says only what matters to it. */
export class EventLog {
  readonly sessionId: string
  readonly events: SessionEvent[] = []
  readonly #start: number

  constructor(sessionId = 's1', start = 1_800_000_000_000) {
    this.sessionId = sessionId
    this.#start = start
  }

  /** The new events, stamped a second after the last. */
  append(...events: NewEvent[]): SessionEvent[] {
    const at = this.#start + 1000 * this.events.length
    const { sessionId } = this
    const stamped = events.map((event, index): SessionEvent => {
      const seq = this.events.length + index + 1
      return { ...event, seq, id: `${sessionId}-e${seq}`, sessionId, at }
    })
    this.events.push(...stamped)
    return stamped
  }
}

export function started(fields: Partial<EventOf<'session_started'>> = {}): NewEvent {
  return { type: 'session_started', agent: 'demo', permissionMode: 'default', ...fields }
}

type Asked = Partial<EventOf<'interaction_request'>> & { toolCallId?: string }

/** L1: pending, then the request. */
export function asked(interactionId: string, fields: Asked = {}): NewEvent[] {
  const { toolCallId = `call-${interactionId}`, toolName = 'Bash', presentation = 'tool' } = fields
  const { turnId, responseId, expiresAt } = fields
  const shared = {
    interactionId,
    toolCallId,
    toolName,
    presentation,
    ...(turnId !== undefined && { turnId }),
    ...(responseId !== undefined && { responseId }),
    ...(expiresAt !== undefined && { expiresAt }),
  }
  const reason = fields.errors ? 'reprompted' : 'requested'
  return [
    { type: 'interaction_pending', ...shared, pending: true, reason },
    {
      type: 'interaction_request',
      ...shared,
      kind: 'approval',
      request: { input: { command: 'ls' } },
      digest: `digest-${interactionId}`,
      requestedAt: 1_800_000_000_000,
      onTimeout: 'deny',
      anchor: 'exact',
      ...fields,
    },
  ]
}

export const databaseQuestion: Json = {
  questions: [
    {
      header: 'Database',
      question: 'Which database?',
      options: [{ label: 'Postgres' }, { label: 'SQLite' }],
      multiSelect: false,
    },
  ],
}

export function askedQuestion(interactionId: string, fields: Asked = {}): NewEvent[] {
  return asked(interactionId, {
    kind: 'question',
    presentation: 'questionnaire',
    toolName: 'AskUserQuestion',
    request: databaseQuestion,
    ...fields,
  })
}

type Settled = Partial<EventOf<'interaction_response'>> & Pick<Interaction, 'settlement'>

/** L2: the response, then the end of pending. */
export function settled(interactionId: string, fields: Settled = {}): NewEvent[] {
  const { settlement = 'approved', toolCallId = `call-${interactionId}`, toolName = 'Bash' } = fields
  const shared = { interactionId, toolCallId, toolName }
  const response: NewEvent = {
    type: 'interaction_response',
    ...shared,
    kind: 'approval',
    digest: `digest-${interactionId}`,
    ...fields,
    settlement,
  }
  const presentation = 'tool'
  return [
    response,
    { type: 'interaction_pending', ...shared, presentation, pending: false, reason: settlement },
  ]
}

export function called(toolCallId: string, fields: Partial<EventOf<'tool_call'>> = {}): NewEvent {
  return { type: 'tool_call', toolCallId, toolName: 'Bash', input: { command: 'ls' }, ...fields }
}

export function ended(toolCallId: string, fields: Partial<EventOf<'tool_result'>> = {}): NewEvent {
  return { type: 'tool_result', toolCallId, output: 'done', isError: false, ...fields }
}

export function wrote(blockId: string, fields: Partial<EventOf<'text'>> = {}): NewEvent {
  return { type: 'text', blockId, text: `text of ${blockId}`, ...fields }
}
