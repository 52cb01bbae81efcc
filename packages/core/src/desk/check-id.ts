import { AskbackError } from '@askback/protocol'

/** Whoever calls without types may pass anything, and a store may do anything with that. */
export function checkId(id: unknown, what: 'session' | 'interaction' | 'rule'): asserts id is string {
  if (typeof id !== 'string')
    throw new AskbackError('invalid_request', `The id of the ${what} must be a text.`)
}
