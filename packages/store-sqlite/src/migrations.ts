import { AskbackError } from '@askback/protocol'
import type Database from 'libsql'

/** Below 2^47, which a JavaScript number represents exactly. */
export const RANDOM_ID = 'abs(random() % 140737488355328)'

/**
 * The log has one row per append, with its events as one JSON array. Every event has a position in one order over all sessions:
 * `log.pos` is the position of the first event of its row, and the n-th event after it has `pos + n`. The indexes refer to events by
 * position, so that no request or answer is stored twice.
 *
 * Each entry migrates by one version. Only the last may be changed, and only until it is released.
 */
const migrations = [
  `CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
   INSERT INTO meta VALUES ('reserved', 1);
   CREATE TABLE sessions (
     key INTEGER PRIMARY KEY,
     id TEXT NOT NULL UNIQUE,
     info TEXT NOT NULL,
     status TEXT NOT NULL,
     permission_mode TEXT NOT NULL,
     updated_at REAL NOT NULL
   );
   CREATE TABLE log (
     pos INTEGER PRIMARY KEY,
     session INTEGER NOT NULL,
     first_seq INTEGER NOT NULL,
     last_seq INTEGER NOT NULL,
     body TEXT NOT NULL
   );
   CREATE UNIQUE INDEX log_by_session ON log (session, last_seq);
   CREATE TABLE interactions (
     id TEXT PRIMARY KEY,
     session INTEGER NOT NULL,
     tool_call_id TEXT NOT NULL,
     request INTEGER NOT NULL,
     progress INTEGER,
     response INTEGER,
     delivered INTEGER NOT NULL DEFAULT 0,
     pending INTEGER NOT NULL DEFAULT 1,
     expires_at REAL
   ) WITHOUT ROWID;
   CREATE INDEX interactions_by_session ON interactions (session, pending, tool_call_id);
   CREATE INDEX interactions_pending ON interactions (request) WHERE pending = 1;
   CREATE TABLE tool_calls (
     session INTEGER NOT NULL,
     id TEXT NOT NULL,
     ended INTEGER NOT NULL DEFAULT 0,
     PRIMARY KEY (session, id)
   ) WITHOUT ROWID;
   CREATE TABLE audit (place INTEGER PRIMARY KEY, body TEXT NOT NULL, message TEXT);
   CREATE TABLE kv (key TEXT PRIMARY KEY, value TEXT NOT NULL, version INTEGER NOT NULL) WITHOUT ROWID;
   CREATE TABLE snapshots (session INTEGER PRIMARY KEY, seq INTEGER NOT NULL, version INTEGER NOT NULL, state TEXT NOT NULL);
   CREATE TABLE erased (session INTEGER PRIMARY KEY);`,
  // With these indexes an answer writes to the few pages of pending interactions, and not to those of a session's past.
  `DROP INDEX interactions_by_session;
   CREATE INDEX interactions_by_session ON interactions (session, tool_call_id);
   CREATE INDEX interactions_pending_in ON interactions (session, request) WHERE pending = 1;`,
  // A checksum for each append, and what a start needs to notice that something acknowledged is missing: see `mark.ts`.
  `ALTER TABLE log ADD COLUMN sum INTEGER;
   INSERT INTO meta VALUES ('id', ${RANDOM_ID}), ('latest', 0), ('in_use', 0);`,
  // How far the tables that follow from the log are written: see `derived-tables.ts`.
  `INSERT INTO meta SELECT 'derived', coalesce(max(pos), 0) FROM log;`,
]

export const VERSION = migrations.length

/** Since this version a database records what was acknowledged, and has checksums. */
export const FIRST_MARKED_VERSION = 3

/** In the header of the file, to distinguish our databases from those of other programs. */
const APPLICATION_ID = 0x61736b62

/** The version of the tables; 0 for an empty database. */
export function versionOf(db: Database.Database): number {
  return valueOf(db, 'PRAGMA user_version')
}

/** Throws for a database of another program or of a newer version, before anything is written to it. */
export function checkFormat(db: Database.Database, path: string): void {
  const version = versionOf(db)
  const isEmpty = version === 0 && valueOf(db, 'SELECT count(*) FROM sqlite_schema') === 0
  if (valueOf(db, 'PRAGMA application_id') !== APPLICATION_ID && !isEmpty) {
    throw new AskbackError('unavailable', `The database ${path} is not an Askback database.`)
  }
  if (version > VERSION) {
    throw new AskbackError(
      'unavailable',
      `The database ${path} is of version ${version}, made by a newer Askback; this one knows versions up to ${VERSION}.`,
    )
  }
}

/** Migrates the database to this version, each migration in its own transaction. */
export function migrate(db: Database.Database): void {
  const version = versionOf(db)
  for (const [index, migration] of migrations.entries()) {
    if (index < version) continue
    db.exec(
      `BEGIN IMMEDIATE; ${migration} PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${index + 1}; COMMIT`,
    )
  }
}

function valueOf(db: Database.Database, sql: string): number {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a pragma has one row with one number
  const [value] = db.prepare(sql).raw().get([]) as [number]
  return value
}
