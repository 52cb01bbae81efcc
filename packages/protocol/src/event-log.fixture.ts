import type { NewEvent, NewEventOf, SessionEvent } from './events.js'
import { fold } from './reduce.js'
import { emptyState, type SessionState } from './state.js'

export const by = { id: 'ada', name: 'Ada' }
export const start: NewEventOf<'session_started'> = {
  type: 'session_started',
  agent: 'demo',
  title: 'Try',
  cwd: '/w',
  permissionMode: 'plan',
}

/** Gives events their envelope, as a log does. `at` is ten times `seq`. */
export function logOf(...events: NewEvent[]): SessionEvent[] {
  return events.map((event, index) => ({
    seq: index + 1,
    id: `e${index + 1}`,
    sessionId: 's1',
    at: (index + 1) * 10,
    ...event,
  }))
}

export function stateOf(...events: NewEvent[]): SessionState {
  return fold(emptyState('s1'), logOf(...events))
}

export const anchored = (interactionId: string) => ({
  interactionId,
  toolCallId: `t-${interactionId}`,
  toolName: 'Bash',
})
export const ask = (
  interactionId: string,
  more: { turnId?: string; errors?: Record<string, string> } = {},
): NewEvent[] => [
  {
    type: 'interaction_pending',
    ...anchored(interactionId),
    pending: true,
    presentation: 'tool',
    reason: 'requested',
    ...more,
  },
  {
    type: 'interaction_request',
    ...anchored(interactionId),
    kind: 'approval',
    presentation: 'tool',
    request: { input: {} },
    digest: 'd',
    requestedAt: 5,
    onTimeout: 'deny',
    ...more,
  },
]
export const answer = (interactionId: string): NewEvent[] => [
  {
    type: 'interaction_response',
    ...anchored(interactionId),
    kind: 'approval',
    digest: 'd',
    settlement: 'denied',
    answer: { decision: 'deny', message: 'no' },
    message: 'no',
    by,
    via: 'web',
  },
  {
    type: 'interaction_pending',
    ...anchored(interactionId),
    pending: false,
    presentation: 'tool',
    reason: 'denied',
  },
]
export const text = (blockId: string, turnId?: string): NewEvent => ({
  type: 'text',
  blockId,
  text: blockId,
  ...(turnId && { turnId }),
})
export const begin = (turnId: string): NewEvent => ({ type: 'turn_started', turnId })
export const finish = (turnId: string): NewEvent => ({ type: 'turn_ended', turnId, reason: 'done' })
