import type { EventOf, Interaction, Json, NewEvent, SessionEvent } from '@askback/protocol'

/** A session's log for tests: gives events their envelope, so that a test says only what matters to it. */
export class EventLog {
  readonly sessionId: string
  readonly events: SessionEvent[] = []
  readonly #start: number

  constructor(sessionId = 's1', start = 1_800_000_000_000) {
    this.sessionId = sessionId
    this.#start = start
  }

  /** Appends events and returns them with their envelope. The time advances by one second per event of the log. */
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

/** `session_started`, which begins every log. */
export function started(fields: Partial<EventOf<'session_started'>> = {}): NewEvent {
  return { type: 'session_started', agent: 'demo', permissionMode: 'default', ...fields }
}

type RequestFields = Partial<EventOf<'interaction_request'>> & { toolCallId?: string }

/** Opens an approval (L1): `interaction_pending: true`, then the request. */
export function asked(interactionId: string, fields: RequestFields = {}): NewEvent[] {
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

/** A question with two options, for tests. */
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

/** Opens a question. */
export function askedQuestion(interactionId: string, fields: RequestFields = {}): NewEvent[] {
  return asked(interactionId, {
    kind: 'question',
    presentation: 'questionnaire',
    toolName: 'AskUserQuestion',
    request: databaseQuestion,
    ...fields,
  })
}

type ResponseFields = Partial<EventOf<'interaction_response'>> & Pick<Interaction, 'settlement'>

/** Settles an interaction (L2): the response, then `interaction_pending: false`. */
export function settled(interactionId: string, fields: ResponseFields = {}): NewEvent[] {
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

/** `tool_call`. */
export function called(toolCallId: string, fields: Partial<EventOf<'tool_call'>> = {}): NewEvent {
  return { type: 'tool_call', toolCallId, toolName: 'Bash', input: { command: 'ls' }, ...fields }
}

/** `tool_result`. */
export function ended(toolCallId: string, fields: Partial<EventOf<'tool_result'>> = {}): NewEvent {
  return { type: 'tool_result', toolCallId, output: 'done', isError: false, ...fields }
}

/** `text`. */
export function wrote(blockId: string, fields: Partial<EventOf<'text'>> = {}): NewEvent {
  return { type: 'text', blockId, text: `text of ${blockId}`, ...fields }
}
