import { AskbackError } from '@askback/protocol'
import type Database from 'libsql'

/** Below 2^47, so that a number in JavaScript holds it. */
export const RANDOM_ID = 'abs(random() % 140737488355328)'

/**
 * The log has one row an append, its events as one JSON array. Every event has a place in one order over all sessions:
 * `log.pos` is the place of the first event of its row, the n-th event after it has `pos + n`. The indexes name places, so
 * that no request or answer is stored twice.
 */
const steps = [
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
  // An answer then writes to the pages of what is pending, which are few, and to none that holds a session's past.
  `DROP INDEX interactions_by_session;
   CREATE INDEX interactions_by_session ON interactions (session, tool_call_id);
   CREATE INDEX interactions_pending_in ON interactions (session, request) WHERE pending = 1;`,
  // A checksum for each append, and what tells at a start that nothing acknowledged is missing: see `mark.ts`.
  `ALTER TABLE log ADD COLUMN sum INTEGER;
   INSERT INTO meta VALUES ('id', ${RANDOM_ID}), ('latest', 0), ('in_use', 0);`,
]

export const VERSION = steps.length

/** Written into the file's header, so that a database of another program is told from ours. */
const APPLICATION_ID = 0x61736b62

/** Which version made it or brought it up to itself last. */
export function versionOf(db: Database.Database): number {
  return valueOf(db, 'PRAGMA user_version')
}

/** Refuses a database that this version cannot read or that is not ours, before anything is written to it. */
export function checkMake(db: Database.Database, path: string): void {
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

/** Brings the database to this version, each step in a transaction of its own. */
export function migrate(db: Database.Database): void {
  const version = versionOf(db)
  for (const [index, step] of steps.entries()) {
    if (index < version) continue
    db.exec(
      `BEGIN IMMEDIATE; ${step} PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${index + 1}; COMMIT`,
    )
  }
}

function valueOf(db: Database.Database, sql: string): number {
  const [value] = db.prepare(sql).raw().get([]) as [number]
  return value
}
