import { AskbackError } from '@askback/protocol'
import type { Database } from './database.js'
import { append, functions, news } from './functions.js'
import { deadlines, locks, tableNames, tables } from './tables.js'

/** Each brings the schema one version on; only the last may be changed, and only until it is released. */
const steps = [
  (schema: string, lock: string) => `SET LOCAL search_path = ${schema}; ${tables} ${functions(schema, lock)}`,
  (schema: string, lock: string) => `SET LOCAL search_path = ${schema}; ${deadlines} ${news(schema, lock)}`,
  // `append` learns what is pending from the caller. One with fewer parameters stays for gateways that still run.
  (schema: string, lock: string) => append(schema, lock, { withLocks: false }),
  // All functions with `jit` off.
  (schema: string, lock: string) => `SET LOCAL search_path = ${schema}; ${functions(schema, lock)}`,
  // Locks of sessions; news that name the log; pages of changes that do not end at what is half erased.
  (schema: string, lock: string) =>
    `SET LOCAL search_path = ${schema}; ${locks} ${append(schema, lock, { withLocks: true })} ${functions(schema, lock)} ${news(schema, lock)}`,
]

type Query = (sql: string, params?: string[]) => Promise<unknown[][]>

/**
 * Brings the schema to this version, all of it or nothing, one process at a time. Where it is of this version already
 * nothing is written, so that a user without the right to do so will do.
 */
export async function migrate(db: Database, schema: string, lock: string): Promise<void> {
  if ((await versionOf((sql, params) => db.read(sql, params), db, schema)) === steps.length) return
  await db.transaction(async (query) => {
    await query(`SELECT pg_advisory_xact_lock(${lock})`)
    const version = await versionOf(query, db, schema)
    if (version === steps.length) return
    if (!(await exists(query, schema))) await query(`CREATE SCHEMA ${quoted(schema)}`)
    for (const step of steps.slice(version)) await query(step(quoted(schema), lock))
    await query(
      `INSERT INTO ${quoted(schema)}.meta VALUES ('version', ${steps.length})
       ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    )
  })
}

/** 0 if there is nothing yet. Refuses what is newer, not ours, or not whole. */
async function versionOf(query: Query, db: Database, schema: string): Promise<number> {
  const found = new Set(
    (
      await query(
        `SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')`,
        [schema],
      )
    ).map(([name]) => name as string),
  )
  if (found.size === 0) return 0
  const named = `The schema ${schema} of the database ${db.where}`
  if (!found.has('meta')) {
    throw new AskbackError(
      'unavailable',
      `${named} is not Askback's, or half made: name another, or drop it.`,
    )
  }
  const [row] = await query(`SELECT value FROM ${quoted(schema)}.meta WHERE name = 'version'`)
  const version = Number(row?.[0] ?? 0)
  if (version > steps.length) {
    throw new AskbackError(
      'unavailable',
      `${named} is of version ${version}, made by a newer Askback; this one knows versions up to ${steps.length}: update it.`,
    )
  }
  const missing = tableNames.filter((name) => !found.has(name))
  if (version < 1 || missing.length > 0) {
    const what = missing.length > 0 ? `it lacks ${missing.join(', ')}` : 'it has no version'
    throw new AskbackError(
      'unavailable',
      `${named} is half migrated: ${what}. Restore it from a backup, or drop it.`,
    )
  }
  return version
}

async function exists(query: Query, schema: string): Promise<boolean> {
  return (await query('SELECT FROM pg_namespace WHERE nspname = $1', [schema])).length > 0
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
