import { AskbackError, type AuditAct, type Repeatable } from '@askback/protocol'
import type { Caller } from '../../decide/caller.js'
import { ruleKey } from '../../decide/rules.js'
import { optional } from '../../optional.js'
import type { Engine } from '../engine.js'
import { keyOf, recall, recordOf } from '../idempotency.js'

export async function deleteRule(
  { options }: Engine,
  { by, via = 'direct' }: Caller,
  id: string,
  { idempotencyKey }: Repeatable,
): Promise<void> {
  const { kv } = options.store
  const seen = idempotencyKey === undefined ? undefined : keyOf(`key/rule/${idempotencyKey}`, { id })
  if (seen && (await recall(options, seen))) return
  const key = ruleKey(id)
  let deleted = false
  while (!deleted) {
    const entry = key === null ? null : await kv.get(key)
    if (!entry) throw new AskbackError('not_found', `There is no rule ${id}.`)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only `ruleWrite` writes these entries
    const { sessionId } = Object(entry.value) as { sessionId?: string }
    const act: AuditAct = {
      at: options.clock.now(),
      act: 'rule_deleted',
      via,
      subject: id,
      ...optional({ by, sessionId }),
    }
    deleted = await kv.put(entry.key, null, entry.version, act)
  }
  if (seen) await kv.put(seen.key, recordOf(seen, { events: [] }, []).value, null)
}
