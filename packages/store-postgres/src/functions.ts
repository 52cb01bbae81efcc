/*
 * The functions of the schema. Each operation of the store is one statement that calls one function, so that it needs one round
 * trip and commits by itself. `CREATE OR REPLACE` cannot rename parameters: their names are fixed once released.
 */

/**
 * A connection plans each statement once, and a new table has no statistics that show how it will grow. Therefore index scans and
 * nested loops are forced. A statement without an index then has an estimated cost above `jit_above_cost`, and compiling
 * it took hundreds of milliseconds at each erasure. Therefore `jit` is off.
 */
const settings = (schema: string) => `SET search_path = ${schema}, pg_temp
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
  SET jit = off`

/**
 * Appends to many sessions in one statement, which commits by itself: no lock is held between two messages to the server, so a
 * client that stops in the middle blocks nobody. A session or key may occur in only one append of a call.
 *
 * Returns a number for each append: 0 it was written; conflicts are 1 `seq`, 2 `kv`, 3 `fence`, 4 `locked`.
 *
 * Positions are allocated before they are committed, and commits happen in another order. So appends share an advisory lock, and
 * `changes` takes it exclusively if it finds a gap in the positions: when it gets the lock, the appends that caused the gap
 * have ended.
 */
export const append = (schema: string, lock: string, { withLocks }: { withLocks: boolean }) => `
CREATE OR REPLACE FUNCTION ${schema}.append(
  ids text[], expected bigint[], log_ids text[], bodies text[], counts int[], first_ids text[], infos text[],
  updated float8[], statuses text[], modes text[],
  fence_keys text[], fence_versions bigint[],
  kv_jobs int[], kv_keys text[], kv_values text[], kv_absent boolean[],
  call_jobs int[], call_ids text[], call_made boolean[], call_made_ended boolean[], call_ended boolean[],
  asked_jobs int[], asked_ids text[], asked_tools text[], asked_expires float8[], asked_request int[],
  asked_progress int[], asked_response int[], asked_delivered boolean[], asked_pending boolean[],
  audit_jobs int[], audit_bodies text[], audit_messages text[]${withLocks ? ', lock_owners text[]' : ''}
) RETURNS int[] LANGUAGE plpgsql ${settings(schema)} SET lock_timeout = '10s' AS $body$
DECLARE
  outcome int[];
  keys bigint[];
  places bigint[];
  wanted int;
  made int;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(${lock});
  PERFORM 1 FROM sessions WHERE id = ANY(ids) ORDER BY key FOR NO KEY UPDATE;
  SELECT array_agg(CASE WHEN coalesce(s.seq, 0) <> j.expected OR s.log_id <> j.log_id THEN 1 ELSE 0 END ORDER BY j.n),
         array_agg(s.key ORDER BY j.n)
    INTO outcome, keys
    FROM unnest(ids, expected, log_ids) WITH ORDINALITY AS j(id, expected, log_id, n)
    LEFT JOIN sessions s ON s.id = j.id;
${withLocks ? checkLocks : ''}
  IF cardinality(fence_keys) > 0 THEN
    PERFORM 1 FROM kv WHERE key = ANY(fence_keys) ORDER BY key FOR SHARE;
    SELECT array_agg(
        CASE WHEN j.o = 0 AND j.key IS NOT NULL AND k.version IS DISTINCT FROM j.version THEN 3 ELSE j.o END ORDER BY j.n)
      INTO outcome
      FROM unnest(outcome, fence_keys, fence_versions) WITH ORDINALITY AS j(o, key, version, n)
      LEFT JOIN kv k ON k.key = j.key;
  END IF;

  IF true = ANY(kv_absent) THEN
    SELECT array_agg(CASE WHEN j.o = 0 AND EXISTS (
          SELECT FROM unnest(kv_jobs, kv_keys, kv_absent) AS w(job, key, absent) JOIN kv ON kv.key = w.key
          WHERE w.job = j.n AND w.absent
        ) THEN 2 ELSE j.o END ORDER BY j.n)
      INTO outcome
      FROM unnest(outcome) WITH ORDINALITY AS j(o, n);
  END IF;

  IF 0 = ANY(expected) THEN
    SELECT count(*) INTO wanted FROM unnest(outcome, expected) AS j(o, e) WHERE j.o = 0 AND j.e = 0;
    INSERT INTO sessions (key, id, log_id, seq, info, status, permission_mode, updated_at)
      SELECT nextval('numbers'), j.id, j.first_id, 0, j.info, 'idle', 'default', 0
      FROM unnest(outcome, expected, ids, first_ids, infos) AS j(o, e, id, first_id, info)
      WHERE j.o = 0 AND j.e = 0
      ON CONFLICT (id) DO NOTHING;
    GET DIAGNOSTICS made = ROW_COUNT;
    IF made < wanted THEN
      RAISE EXCEPTION 'another process made this session' USING ERRCODE = 'serialization_failure';
    END IF;
    SELECT array_agg(s.key ORDER BY j.n) INTO keys
      FROM unnest(ids) WITH ORDINALITY AS j(id, n) LEFT JOIN sessions s ON s.id = j.id;
  END IF;

  IF cardinality(kv_keys) > 0 THEN
    DELETE FROM kv USING unnest(kv_jobs, kv_keys, kv_values) AS w(job, key, value)
      WHERE kv.key = w.key AND w.value IS NULL AND outcome[w.job] = 0;
    INSERT INTO kv (key, value, version)
      SELECT w.key, w.value, nextval('numbers')
      FROM unnest(kv_jobs, kv_keys, kv_values, kv_absent) AS w(job, key, value, absent)
      WHERE w.value IS NOT NULL AND NOT w.absent AND outcome[w.job] = 0
      ON CONFLICT (key) DO UPDATE SET value = excluded.value, version = excluded.version;
    SELECT count(*) INTO wanted FROM unnest(kv_jobs, kv_values, kv_absent) AS w(job, value, absent)
      WHERE w.value IS NOT NULL AND w.absent AND outcome[w.job] = 0;
    IF wanted > 0 THEN
      INSERT INTO kv (key, value, version)
        SELECT w.key, w.value, nextval('numbers')
        FROM unnest(kv_jobs, kv_keys, kv_values, kv_absent) AS w(job, key, value, absent)
        WHERE w.value IS NOT NULL AND w.absent AND outcome[w.job] = 0
        ON CONFLICT (key) DO NOTHING;
      GET DIAGNOSTICS made = ROW_COUNT;
      IF made < wanted THEN
        RAISE EXCEPTION 'another process wrote this key' USING ERRCODE = 'serialization_failure';
      END IF;
    END IF;
  END IF;

  SELECT array_agg(CASE WHEN j.o = 0 THEN nextval('positions') END ORDER BY j.n) INTO places
    FROM unnest(outcome) WITH ORDINALITY AS j(o, n);
  INSERT INTO log (pos, session, first_seq, last_seq, body)
    SELECT j.pos, j.key, j.expected + 1, j.expected + j.count, j.body
    FROM unnest(places, keys, expected, counts, bodies) AS j(pos, key, expected, count, body)
    WHERE j.pos IS NOT NULL;
  UPDATE sessions s
    SET seq = j.expected + j.count, updated_at = j.updated,
        status = coalesce(j.status, s.status), permission_mode = coalesce(j.mode, s.permission_mode)
    FROM unnest(places, keys, expected, counts, updated, statuses, modes)
      AS j(pos, key, expected, count, updated, status, mode)
    WHERE j.pos IS NOT NULL AND s.key = j.key;

  IF cardinality(call_ids) > 0 THEN
    UPDATE tool_calls t SET ended = true
      FROM unnest(call_jobs, call_ids, call_ended) AS c(job, id, ended)
      WHERE c.ended AND places[c.job] IS NOT NULL AND t.session = keys[c.job] AND t.id = c.id AND NOT t.ended;
    INSERT INTO tool_calls (session, id, ended)
      SELECT keys[c.job], c.id, c.ended
      FROM unnest(call_jobs, call_ids, call_made, call_made_ended) AS c(job, id, made, ended)
      WHERE c.made AND places[c.job] IS NOT NULL
      ON CONFLICT DO NOTHING;
  END IF;

  IF cardinality(asked_ids) > 0 THEN
    INSERT INTO interactions (id, number, session, tool_call_id, request, request_at, progress, progress_at,
        response, response_at, delivered, pending, expires_at)
      SELECT a.id, nextval('numbers'), keys[a.job], a.tool, places[a.job], a.request,
        CASE WHEN a.progress IS NOT NULL THEN places[a.job] END, a.progress,
        CASE WHEN a.response IS NOT NULL THEN places[a.job] END, a.response,
        a.delivered, coalesce(a.pending, false), a.expires
      FROM unnest(asked_jobs, asked_ids, asked_tools, asked_expires, asked_request, asked_progress, asked_response,
        asked_delivered, asked_pending)
        AS a(job, id, tool, expires, request, progress, response, delivered, pending)
      WHERE a.request IS NOT NULL AND places[a.job] IS NOT NULL
      ON CONFLICT (id) DO UPDATE SET number = excluded.number, session = excluded.session,
        tool_call_id = excluded.tool_call_id, request = excluded.request, request_at = excluded.request_at,
        progress = excluded.progress, progress_at = excluded.progress_at, response = excluded.response,
        response_at = excluded.response_at, delivered = excluded.delivered, pending = excluded.pending,
        expires_at = excluded.expires_at;
    UPDATE interactions i
      SET progress = CASE WHEN a.progress IS NULL THEN i.progress ELSE places[a.job] END,
          progress_at = coalesce(a.progress, i.progress_at),
          response = CASE WHEN a.response IS NULL THEN i.response ELSE places[a.job] END,
          response_at = coalesce(a.response, i.response_at),
          delivered = i.delivered OR a.delivered,
          pending = coalesce(a.pending, i.pending)
      FROM unnest(asked_jobs, asked_ids, asked_request, asked_progress, asked_response, asked_delivered, asked_pending)
        AS a(job, id, request, progress, response, delivered, pending)
      WHERE a.request IS NULL AND places[a.job] IS NOT NULL AND i.id = a.id AND i.session = keys[a.job];
  END IF;

  IF cardinality(audit_jobs) > 0 THEN
    INSERT INTO audit (number, session, body, message)
      SELECT nextval('numbers'), keys[a.job], a.body, a.message
      FROM unnest(audit_jobs, audit_bodies, audit_messages) AS a(job, body, message)
      WHERE places[a.job] IS NOT NULL;
  END IF;
  RETURN outcome;
END $body$;`

/** The table of locks is almost always empty, so it is tested first. */
const checkLocks = `
  IF EXISTS (SELECT FROM locks) THEN
    SELECT array_agg(CASE WHEN j.o = 0 AND EXISTS (
          SELECT FROM locks l
          WHERE l.session_id = j.id AND l.owner IS DISTINCT FROM j.owner AND l.until > clock_timestamp()
        ) THEN 4 ELSE j.o END ORDER BY j.n)
      INTO outcome
      FROM unnest(outcome, ids, lock_owners) WITH ORDINALITY AS j(o, id, owner, n);
    DELETE FROM locks l USING unnest(outcome, ids, lock_owners) AS j(o, id, owner)
      WHERE j.o = 0 AND l.session_id = j.id AND l.owner = j.owner;
  END IF;
`

/** Returns the rows that contain the wanted events. A row is an append, so the first and last may contain others as well. */
const read = (schema: string) => `
CREATE OR REPLACE FUNCTION ${schema}.read(sid text, after bigint, before bigint, lim bigint)
RETURNS SETOF text LANGUAGE plpgsql STABLE ${settings(schema)} AS $body$
DECLARE
  found record;
  hi bigint;
  lo bigint;
BEGIN
  SELECT key, seq INTO found FROM sessions WHERE id = sid;
  IF found.key IS NULL THEN RETURN; END IF;
  hi := least(CASE WHEN before IS NULL THEN after + lim ELSE before - 1 END, found.seq);
  lo := CASE WHEN before IS NULL THEN after ELSE greatest(after, hi - lim) END;
  IF lo >= hi THEN RETURN; END IF;
  RETURN QUERY SELECT l.body FROM log l
    WHERE l.session = found.key AND l.last_seq > lo AND l.last_seq <=
      (SELECT m.last_seq FROM log m WHERE m.session = found.key AND m.last_seq >= hi ORDER BY m.last_seq LIMIT 1)
    ORDER BY l.last_seq;
END $body$;`

/**
 * Finds the last position of a page of changes. Rows of an erased session that are not purged yet do not count: a page with only
 * such rows would be empty, which means the end.
 */
const lastOfPage = `SELECT max(p.pos), count(*) INTO last, rows FROM (
      (SELECT l.pos FROM log l JOIN sessions s ON s.key = l.session WHERE l.pos > after ORDER BY l.pos LIMIT lim)
      UNION ALL (SELECT e.pos FROM erasures e WHERE e.pos > after ORDER BY e.pos LIMIT lim)
      ORDER BY 1 LIMIT lim) p;`

/** A gap in the positions may be an append that is not committed yet. Then this waits until no append is running. */
const changes = (schema: string, lock: string) => `
CREATE OR REPLACE FUNCTION ${schema}.changes(after bigint, lim bigint)
RETURNS TABLE (place bigint, session_id text, events text) LANGUAGE plpgsql ${settings(schema)} AS $body$
DECLARE
  last bigint;
  rows bigint;
BEGIN
  FOR attempt IN 1..2 LOOP
    ${lastOfPage}
    EXIT WHEN rows = 0 OR last - after = rows;
    PERFORM pg_advisory_xact_lock(${lock});
  END LOOP;
  RETURN QUERY
    SELECT l.pos, s.id, l.body FROM log l JOIN sessions s ON s.key = l.session WHERE l.pos > after AND l.pos <= last
    UNION ALL SELECT e.pos, e.id, NULL FROM erasures e WHERE e.pos > after AND e.pos <= last
    ORDER BY 1;
END $body$;
CREATE OR REPLACE FUNCTION ${schema}.head() RETURNS bigint LANGUAGE plpgsql ${settings(schema)} AS $body$
BEGIN
  PERFORM pg_advisory_xact_lock(${lock});
  RETURN greatest((SELECT max(pos) FROM log), (SELECT max(pos) FROM erasures), 0);
END $body$;
CREATE OR REPLACE FUNCTION ${schema}.audit_after(after bigint, lim bigint)
RETURNS TABLE (place bigint, row_body text, row_message text) LANGUAGE plpgsql ${settings(schema)} AS $body$
BEGIN
  PERFORM pg_advisory_xact_lock(${lock});
  RETURN QUERY SELECT a.number, a.body, a.message FROM audit a WHERE a.number > after ORDER BY a.number LIMIT lim;
END $body$;`

/** Like `changes` without events: the last position of each session, the id of its log, and the last `seq`. */
export const changedSessions = (schema: string, lock: string) => `
CREATE OR REPLACE FUNCTION ${schema}.log_news(after bigint, lim bigint)
RETURNS TABLE (place bigint, session_id text, log text, reaches bigint) LANGUAGE plpgsql ${settings(schema)} AS $body$
DECLARE
  last bigint;
  rows bigint;
BEGIN
  FOR attempt IN 1..2 LOOP
    ${lastOfPage}
    EXIT WHEN rows = 0 OR last - after = rows;
    PERFORM pg_advisory_xact_lock(${lock});
  END LOOP;
  RETURN QUERY
    SELECT max(l.pos), s.id, s.log_id, max(l.last_seq) FROM log l JOIN sessions s ON s.key = l.session
      WHERE l.pos > after AND l.pos <= last GROUP BY s.key
    UNION ALL SELECT e.pos, e.id, NULL, NULL FROM erasures e WHERE e.pos > after AND e.pos <= last
    ORDER BY 1;
END $body$;`

/** `erase` hides a session at once; `purge` deletes its log in small transactions. */
const erase = (schema: string, lock: string) => `
CREATE OR REPLACE FUNCTION ${schema}.erase(sid text, of_log text, keys_from text, keys_to text)
RETURNS bigint LANGUAGE plpgsql ${settings(schema)} SET lock_timeout = '10s' AS $body$
DECLARE
  gone bigint;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(${lock});
  PERFORM 1 FROM sessions WHERE id = sid FOR UPDATE;
  IF EXISTS (SELECT FROM sessions WHERE id = sid AND log_id <> of_log) THEN RETURN NULL; END IF;
  DELETE FROM kv WHERE key >= keys_from AND key < keys_to;
  DELETE FROM sessions WHERE id = sid RETURNING key INTO gone;
  IF gone IS NULL THEN RETURN NULL; END IF;
  DELETE FROM snapshots WHERE session = gone;
  DELETE FROM interactions WHERE session = gone;
  UPDATE audit SET message = NULL WHERE session = gone AND message IS NOT NULL;
  DELETE FROM erasures WHERE purged AND at < now() - interval '1 day';
  INSERT INTO erasures (pos, session, id) VALUES (nextval('positions'), gone, sid);
  RETURN gone;
END $body$;
CREATE OR REPLACE FUNCTION ${schema}.purge(gone bigint, lim bigint)
RETURNS boolean LANGUAGE plpgsql ${settings(schema)} SET lock_timeout = '10s' AS $body$
DECLARE
  rows bigint;
  calls bigint;
BEGIN
  DELETE FROM log WHERE pos IN (SELECT pos FROM log WHERE session = gone ORDER BY last_seq LIMIT lim);
  GET DIAGNOSTICS rows = ROW_COUNT;
  DELETE FROM tool_calls WHERE session = gone AND id IN (SELECT id FROM tool_calls WHERE session = gone LIMIT lim);
  GET DIAGNOSTICS calls = ROW_COUNT;
  IF rows + calls > 0 THEN RETURN false; END IF;
  UPDATE erasures SET purged = true WHERE session = gone;
  RETURN true;
END $body$;`

export function functions(schema: string, lock: string): string {
  const appendWithoutLocks = append(schema, lock, { withLocks: false })
  return [appendWithoutLocks, read(schema), changes(schema, lock), erase(schema, lock)].join('\n')
}
