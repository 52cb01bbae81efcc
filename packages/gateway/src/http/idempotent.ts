import type { Store } from '@askback/core'
import { AskbackError, canonicalJson, copyJson, PROOF_HEADER, sha256Hex } from '@askback/protocol'
import type { IncomingHttpHeaders } from 'node:http'
import type { SecretSeed } from '../credentials/credential.js'

/*
 * A client that lost a response sends its request again under the same Idempotency-Key. The desk deduplicates what changes a
 * session. This file has the rest: how a key is read, and how requests that change no session (tokens, logins) are deduplicated.
 */

const VALID_KEY = /^[\x21-\x7e]{1,255}$/

/** The key in the scope of its operation and credential. The desk adds the session, where there is one. */
export function idempotencyKey(
  header: string | string[] | undefined,
  operation: string,
  credentialId: string,
): string | undefined {
  if (header === undefined) return undefined
  if (typeof header === 'string' && VALID_KEY.test(header))
    return `${operation} ${encodeURIComponent(credentialId)} ${header}`
  throw new AskbackError(
    'invalid_request',
    'An Idempotency-Key is 1 to 255 visible ASCII characters, sent once.',
  )
}

/**
 * Runs `act` once for each key. A repeated request runs nothing, and its response is not stored: the caller must be able to compute
 * it from the request alone. Throws `idempotency_mismatch` if the key was used with another body.
 */
export async function idempotent(
  store: Store,
  key: string | undefined,
  body: unknown,
  act: () => Promise<void>,
): Promise<'done' | 'repeated'> {
  if (key === undefined) {
    await act()
    return 'done'
  }
  const record = `key/gateway/${key}`
  const fingerprint = sha256Hex(canonicalJson(copyJson(body)))
  const earlier = await store.kv.get(record)
  if (!earlier) {
    await act()
    await store.kv.put(record, fingerprint, null)
    return 'done'
  }
  if (earlier.value === fingerprint) return 'repeated'
  throw new AskbackError(
    'idempotency_mismatch',
    'This idempotency key was used for another request. A new request needs a new key.',
  )
}

/** Makes the secrets of a repeated request the same as those of the first: see `SecretSeed`. */
export function secretSeed(headers: IncomingHttpHeaders, key: string | undefined): SecretSeed | undefined {
  if (key === undefined) return undefined
  const { authorization = '', [PROOF_HEADER]: proof = '' } = headers
  // Cookies do not count: another port of this host can add some between the request and its repetition.
  return { key, secret: JSON.stringify(authorization ? ['token', authorization] : ['proof', proof]) }
}
