import { AskbackError } from '@askback/protocol'

export function sessionNotFound({ sessionId }: { sessionId: string }): AskbackError {
  return new AskbackError('not_found', `There is no session ${sessionId}.`)
}

export function fencedError(): AskbackError {
  return new AskbackError('forbidden', 'Another gateway runs the agent of this session now.')
}

export function closedError(): AskbackError {
  return new AskbackError('unavailable', 'This desk is closed. What is pending stays pending.')
}

/** A caller without types may pass anything, and stores do not check ids. */
export function checkId(id: unknown, what: 'session' | 'interaction' | 'rule'): asserts id is string {
  if (typeof id !== 'string')
    throw new AskbackError('invalid_request', `The id of the ${what} must be a text.`)
}
