import type { Store } from '@askback/core'
import { AskbackError, canonicalJson, copyJson, sha256Hex } from '@askback/protocol'

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
