import type { Kv } from '@askback/core'
import type { AuditAct, Json } from '@askback/protocol'

/**
 * Writes a key whatever its version is, for records that only this connector writes; `null` deletes it. Writes to the same
 * key must not overlap, else the older value may win.
 */
export async function overwrite(kv: Kv, key: string, value: Json | null, act?: AuditAct): Promise<void> {
  for (;;) {
    const entry = await kv.get(key)
    if (!entry && value === null) return
    if (await kv.put(key, value, entry?.version ?? null, act)) return
  }
}
