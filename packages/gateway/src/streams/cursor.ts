import { AskbackError } from '@askback/protocol'

/** A place in a log as it stands in a URL or header. One that is too large for a number lies past every end. */
export function parseCursor(value: unknown, name: string): number {
  if (typeof value === 'string' && /^\d+$/.test(value)) return Number(value)
  throw new AskbackError('invalid_request', `${name} must be a whole number.`)
}
