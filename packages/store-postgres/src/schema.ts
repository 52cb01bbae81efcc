import { AskbackError } from '@askback/protocol'
import type { Database } from './database.js'
import { append, functions, changedSessions } from './functions.js'

/*
 * The tables, and the migrations that bring a schema from any older version to this one. The SQL functions are in `functions.ts`.
 */

/**
 * The log has one row per append, with its events as one JSON array, at a position in one order over all sessions. The indexes
 * refer to an event by that position and its index in the array, so that no request or answer is stored twice. Texts that
 * callers choose have collation "C", which sorts them by bytes.
 */
const tables = `
CREATE TABLE meta (name text PRIMARY KEY, value bigint NOT NULL);
CREATE SEQUENCE numbers;
CREATE SEQUENCE positions;
CREATE TABLE sessions (
  key bigint PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  log_id text NOT NULL,
  seq bigint NOT NULL,
  info text NOT NULL,
  status text NOT NULL,
  permission_mode text NOT NULL,
  updated_at float8 NOT NULL
) WITH (fillfactor = 70);
CREATE TABLE log (
  pos bigint PRIMARY KEY,
  session bigint NOT NULL,
  first_seq bigint NOT NULL,
  last_seq bigint NOT NULL,
  body text NOT NULL
);
CREATE UNIQUE INDEX log_by_session ON log (session, last_seq);
CREATE TABLE interactions (
  id text COLLATE "C" PRIMARY KEY,
  number bigint NOT NULL,
  session bigint NOT NULL,
  tool_call_id text COLLATE "C" NOT NULL,
  request bigint NOT NULL,
  request_at int NOT NULL,
  progress bigint,
  progress_at int,
  response bigint,
  response_at int,
  delivered boolean NOT NULL,
  pending boolean NOT NULL,
  expires_at float8
) WITH (fillfactor = 80);
CREATE INDEX interactions_by_session ON interactions (session, tool_call_id);
CREATE INDEX interactions_pending ON interactions (number) WHERE pending;
CREATE TABLE tool_calls (
  session bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  ended boolean NOT NULL,
  PRIMARY KEY (session, id)
);
CREATE TABLE audit (number bigint PRIMARY KEY, session bigint NOT NULL, body text NOT NULL, message text);
CREATE INDEX audit_messages ON audit (session) WHERE message IS NOT NULL;
CREATE TABLE kv (key text COLLATE "C" PRIMARY KEY, value text NOT NULL, version bigint NOT NULL) WITH (fillfactor = 80);
CREATE TABLE snapshots (
  session bigint PRIMARY KEY,
  seq bigint NOT NULL,
  version bigint NOT NULL,
  state text NOT NULL
);
CREATE TABLE erasures (
  pos bigint PRIMARY KEY,
  session bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  purged boolean NOT NULL DEFAULT false
);`

/** Locks expire within seconds, so they need not survive a crash of the server. */
const locks = `
CREATE UNLOGGED TABLE IF NOT EXISTS locks (
  session_id text COLLATE "C" PRIMARY KEY,
  owner text NOT NULL,
  until timestamptz NOT NULL
);`

/** An index by deadline, so that finding the next ones does not depend on how many are pending. Bodies may be JSON that `jsonb` rejects. */
const deadlines = `
CREATE INDEX interactions_due ON interactions (expires_at) WHERE pending AND expires_at IS NOT NULL;
UPDATE interactions i SET expires_at = NULL FROM log l
  WHERE i.pending AND i.expires_at IS NOT NULL AND l.pos = i.request
  AND l.body::json -> i.request_at ->> 'onTimeout' = 'keep';`

/** The tables that a complete schema has in every version. */
export const tableNames = [...tables.matchAll(/CREATE TABLE (\w+)/g)].map(([, name]) => name!)

/** Each migrates the schema by one version. Only the last may be changed, and only until it is released. */
const migrations = [
  (schema: string, lock: string) => `SET LOCAL search_path = ${schema}; ${tables} ${functions(schema, lock)}`,
  (schema: string, lock: string) =>
    `SET LOCAL search_path = ${schema}; ${deadlines} ${changedSessions(schema, lock)}`,
  // `append` gets from the caller what is pending. The function with fewer parameters stays for gateways that still run.
  (schema: string, lock: string) => append(schema, lock, { withLocks: false }),
  // All functions get `jit = off`.
  (schema: string, lock: string) => `SET LOCAL search_path = ${schema}; ${functions(schema, lock)}`,
  // Locks of sessions; changed sessions with the id of the log; pages of changes that continue after a half-erased session.
  (schema: string, lock: string) =>
    `SET LOCAL search_path = ${schema}; ${locks} ${append(schema, lock, { withLocks: true })} ${functions(schema, lock)} ${changedSessions(schema, lock)}`,
]

type RunQuery = (sql: string, params?: string[]) => Promise<unknown[][]>

/**
 * Migrates the schema to this version in one transaction, one process at a time. If it has this version already nothing is
 * written, so that a user without the right to change it can run the store.
 */
export async function migrate(db: Database, schema: string, lock: string): Promise<void> {
  if ((await versionOf((sql, params) => db.read(sql, params), db, schema)) === migrations.length) return
  await db.transaction(async (query) => {
    await query(`SELECT pg_advisory_xact_lock(${lock})`)
    const version = await versionOf(query, db, schema)
    if (version === migrations.length) return
    if (!(await exists(query, schema))) await query(`CREATE SCHEMA ${quoted(schema)}`)
    for (const migration of migrations.slice(version)) await query(migration(quoted(schema), lock))
    await query(
      `INSERT INTO ${quoted(schema)}.meta VALUES ('version', ${migrations.length})
       ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    )
  })
}

/** Returns 0 for an empty schema. Throws if the schema is newer than this program, belongs to another one, or is incomplete. */
async function versionOf(query: RunQuery, db: Database, schema: string): Promise<number> {
  const found = new Set(
    (
      await query(
        `SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')`,
        [schema],
      )
    ).map(([name]) => String(name)),
  )
  if (found.size === 0) return 0
  const named = `The schema ${schema} of the database ${db.address}`
  if (!found.has('meta')) {
    throw new AskbackError(
      'unavailable',
      `${named} is not Askback's, or half made: name another, or drop it.`,
    )
  }
  const [row] = await query(`SELECT value FROM ${quoted(schema)}.meta WHERE name = 'version'`)
  const version = Number(row?.[0] ?? 0)
  if (version > migrations.length) {
    throw new AskbackError(
      'unavailable',
      `${named} is of version ${version}, made by a newer Askback; this one knows versions up to ${migrations.length}: update it.`,
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

async function exists(query: RunQuery, schema: string): Promise<boolean> {
  return (await query('SELECT FROM pg_namespace WHERE nspname = $1', [schema])).length > 0
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
