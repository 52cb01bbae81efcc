import { AskbackError } from '@askback/protocol'

const VALID = /^[\x21-\x7e]{1,255}$/

/** Within its scope: the session, where there is one, is added by the desk. */
export function idempotencyKey(
  header: string | string[] | undefined,
  operation: string,
  credentialId: string,
): string | undefined {
  if (header === undefined) return undefined
  if (typeof header === 'string' && VALID.test(header))
    return `${operation} ${encodeURIComponent(credentialId)} ${header}`
  throw new AskbackError(
    'invalid_request',
    'An Idempotency-Key is 1 to 255 visible ASCII characters, sent once.',
  )
}
