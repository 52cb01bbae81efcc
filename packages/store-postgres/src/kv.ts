import type { KvEntry } from '@askback/core'
import type { Json } from '@askback/protocol'
import type { Database } from './database.js'
import { endOfPrefix, fromKeyText, keyText } from './key-text.js'
import { stored } from './stored.js'

/** Versions come from a sequence: a key that was deleted and made anew is not mistaken for the old one. */
export function kvTable(db: Database, schema: string) {
  return {
    async get(key: string): Promise<KvEntry | null> {
      const sql = `SELECT value, version FROM ${schema}.kv WHERE key = $1`
      const [row] = await db.read<[string, number]>(sql, [keyText(key)])
      return row ? { key, value: stored<Json>(row[0]), version: row[1] } : null
    },
    async list(prefix: string): Promise<KvEntry[]> {
      const sql = `SELECT key, value, version FROM ${schema}.kv WHERE key >= $1 AND key < $2 ORDER BY key`
      const from = keyText(prefix)
      const rows = await db.read<[string, string, number]>(sql, [from, endOfPrefix(from)])
      return rows.map(([key, value, version]) => ({
        key: fromKeyText(key),
        value: stored<Json>(value),
        version,
      }))
    },
    async put(key: string, value: Json | null, expected: number | null): Promise<boolean> {
      const at = keyText(key)
      if (value === null && expected === null) {
        return (await db.read(`SELECT FROM ${schema}.kv WHERE key = $1`, [at])).length === 0
      }
      const next = `nextval('${schema}.numbers')`
      const changed =
        value === null
          ? await db.write(`DELETE FROM ${schema}.kv WHERE key = $1 AND version = $2 RETURNING 1`, [
              at,
              expected,
            ])
          : expected === null
            ? await db.write(
                `INSERT INTO ${schema}.kv (key, value, version) VALUES ($1, $2, ${next})
                 ON CONFLICT (key) DO NOTHING RETURNING 1`,
                [at, JSON.stringify(value)],
              )
            : await db.write(
                `UPDATE ${schema}.kv SET value = $2, version = ${next} WHERE key = $1 AND version = $3 RETURNING 1`,
                [at, JSON.stringify(value), expected],
              )
      return changed.length > 0
    },
  }
}
