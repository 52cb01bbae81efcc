import { AskbackError, canonicalJson, copyJson, sha256Hex } from '@askback/protocol'
import type { Store } from '@askback/core'

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

/**
 * Does what changes no session once for each key. The second time nothing is done; what is told then must follow from
 * the request alone.
 */
export async function once(
  store: Store,
  key: string | undefined,
  body: unknown,
  act: () => Promise<void>,
): Promise<'done' | 'seen'> {
  if (key === undefined) {
    await act()
    return 'done'
  }
  const record = `key/gateway/${key}`
  const fingerprint = sha256Hex(canonicalJson(copyJson(body)))
  const seen = await store.kv.get(record)
  if (!seen) {
    await act()
    await store.kv.put(record, fingerprint, null)
    return 'done'
  }
  if (seen.value === fingerprint) return 'seen'
  throw new AskbackError(
    'idempotency_mismatch',
    'This idempotency key was used for another request. A new request needs a new key.',
  )
}
