/**
 * The log has one row an append, its events as one JSON array, at a position in one order over all sessions. The indexes
 * name an event by that position and its place in the array, so that no request or answer is stored twice. Texts that
 * callers choose sort byte by byte.
 */
export const tables = `
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

/** Who may append to a session while others wait. It need not survive a crash of the server. */
export const locks = `
CREATE UNLOGGED TABLE IF NOT EXISTS locks (
  session_id text COLLATE "C" PRIMARY KEY,
  owner text NOT NULL,
  until timestamptz NOT NULL
);`

/** For a look at what ends soon, however much is pending. Bodies may hold what is JSON and no `jsonb`. */
export const deadlines = `
CREATE INDEX interactions_due ON interactions (expires_at) WHERE pending AND expires_at IS NOT NULL;
UPDATE interactions i SET expires_at = NULL FROM log l
  WHERE i.pending AND i.expires_at IS NOT NULL AND l.pos = i.request
  AND l.body::json -> i.request_at ->> 'onTimeout' = 'keep';`

/** What must be there for a schema to be whole. */
export const tableNames = [...tables.matchAll(/CREATE TABLE (\w+)/g)].map(([, name]) => name!)
