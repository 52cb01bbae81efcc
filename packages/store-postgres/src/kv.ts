import type { KvEntry } from '@askback/core'
import { endOfPrefix } from '@askback/core/store'
import type { Json, AuditAct } from '@askback/protocol'
import type { Database, SqlValue } from './database.js'
import { fromKeyText, keyText, parseStored } from './stored-text.js'

/** Versions come from a sequence, so that a key that was deleted and written again does not look unchanged. */
export function kvTable(db: Database, schema: string, lock: string) {
  return {
    async get(key: string): Promise<KvEntry | null> {
      const sql = `SELECT value, version FROM ${schema}.kv WHERE key = $1`
      const [row] = await db.read<[string, number]>(sql, [keyText(key)])
      return row ? { key, value: parseStored<Json>(row[0]), version: row[1] } : null
    },
    async list(prefix: string): Promise<KvEntry[]> {
      const sql = `SELECT key, value, version FROM ${schema}.kv WHERE key >= $1 AND key < $2 ORDER BY key`
      const from = keyText(prefix)
      const rows = await db.read<[string, string, number]>(sql, [from, endOfPrefix(from)])
      return rows.map(([key, value, version]) => ({
        key: fromKeyText(key),
        value: parseStored<Json>(value),
        version,
      }))
    },
    async put(key: string, value: Json | null, expected: number | null, act?: AuditAct): Promise<boolean> {
      const encodedKey = keyText(key)
      if (value === null && expected === null && !act) {
        return (await db.read(`SELECT FROM ${schema}.kv WHERE key = $1`, [encodedKey])).length === 0
      }
      const { sql, params } = putStatement(schema, { encodedKey, value, expected }, act !== undefined)
      if (!act) return (await db.write(sql, params)).length > 0
      // Numbers of the audit are allocated under the lock that its readers wait for (see `append`). The lock is taken before
      // that of the key, in the order of an append, so that the two cannot deadlock.
      const withAct = `WITH held AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(${lock})), written AS (${sql}),
        noted AS (INSERT INTO ${schema}.audit (number, session, body)
          SELECT nextval('${schema}.numbers'), 0, $${params.length + 1} FROM written)
        SELECT FROM written`
      return (await db.write(withAct, [...params, JSON.stringify(act)])).length > 0
    },
  }
}

function putStatement(
  schema: string,
  { encodedKey, value, expected }: { encodedKey: string; value: Json | null; expected: number | null },
  hasLock: boolean,
): { sql: string; params: SqlValue[] } {
  const [from, using] = hasLock ? ['FROM held', 'USING held'] : ['', '']
  const next = `nextval('${schema}.numbers')`
  if (value === null) {
    if (expected === null) {
      const sql = `SELECT 1 ${from} WHERE NOT EXISTS (SELECT FROM ${schema}.kv WHERE key = $1)`
      return { sql, params: [encodedKey] }
    }
    const sql = `DELETE FROM ${schema}.kv ${using} WHERE key = $1 AND version = $2 RETURNING 1`
    return { sql, params: [encodedKey, expected] }
  }
  const body = JSON.stringify(value)
  if (expected === null) {
    const sql = `INSERT INTO ${schema}.kv (key, value, version) SELECT $1, $2, ${next} ${from}
      ON CONFLICT (key) DO NOTHING RETURNING 1`
    return { sql, params: [encodedKey, body] }
  }
  const sql = `UPDATE ${schema}.kv SET value = $2, version = ${next} ${from} WHERE key = $1 AND version = $3 RETURNING 1`
  return { sql, params: [encodedKey, body, expected] }
}
