import { AskbackError } from '@askback/protocol'
import { ruleKey } from '../decide/rules.js'
import type { Engine } from './engine.js'
import { keyOf, recall, recordOf } from './idempotency.js'

export async function deleteRule(
  { options }: Engine,
  id: string,
  idempotencyKey: string | undefined,
): Promise<void> {
  const { kv } = options.store
  const seen = idempotencyKey === undefined ? undefined : keyOf(`key/rule/${idempotencyKey}`, { id })
  if (seen && (await recall(options, seen))) return
  const key = ruleKey(id)
  let deleted = false
  while (!deleted) {
    const entry = key === null ? null : await kv.get(key)
    if (!entry) throw new AskbackError('not_found', `There is no rule ${id}.`)
    deleted = await kv.put(entry.key, null, entry.version)
  }
  if (seen) await kv.put(seen.key, recordOf(seen, { events: [] }, []).value, null)
}
