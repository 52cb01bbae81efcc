import { AskbackError } from '@askback/protocol'

export function missing({ sessionId }: { sessionId: string }): AskbackError {
  return new AskbackError('not_found', `There is no session ${sessionId}.`)
}

export function fencedError(): AskbackError {
  return new AskbackError('forbidden', 'Another gateway runs the agent of this session now.')
}

export function closedError(): AskbackError {
  return new AskbackError('unavailable', 'This desk is closed. What waits stays pending.')
}
