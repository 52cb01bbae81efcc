// Appends to 64 sessions at the same time, against bare inserts of the same rows, 64 per statement.
import { postgresStore } from '@askback/store-postgres'
import { startPostgres } from '@askback/store-postgres/testing'
import { newId } from '@askback/core'
import { Client } from 'pg'
import { interleave, report, timed } from '../core/measure.mjs'

const AT_ONCE = 64
const EACH = 40

const server = await startPostgres({ durable: true })
const store = await postgresStore({ url: server.url() })
const client = new Client(server.url())
await client.connect()
await client.query(`CREATE SCHEMA raw;
  CREATE TABLE raw.sessions (LIKE askback.sessions INCLUDING ALL);
  CREATE TABLE raw.log (LIKE askback.log INCLUDING ALL);
  CREATE TABLE raw.interactions (LIKE askback.interactions INCLUDING ALL)`)

const INSERT = `WITH l AS (INSERT INTO raw.log SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[])),
  s AS (UPDATE raw.sessions s SET seq = u.seq, updated_at = 1 FROM unnest($2::bigint[], $4::bigint[]) u(key, seq) WHERE s.key = u.key)
  INSERT INTO raw.interactions SELECT id, pos, key, id, pos, 1, NULL, NULL, NULL, NULL, false, true, NULL
  FROM unnest($6::text[], $1::bigint[], $2::bigint[]) u(id, pos, key)`

let pos = 0

/** @param {string} sessionId @param {number} seq */
function questionEvents(sessionId, seq) {
  const interactionId = newId()
  const shared = { interactionId, toolCallId: interactionId, toolName: 'Ask', presentation: 'questionnaire' }
  const at = Date.now()
  const request = {
    questions: [{ header: 'h', question: 'Which?', options: [{ label: 'This' }], multiSelect: false }],
  }
  return [
    {
      seq,
      id: newId(),
      sessionId,
      at,
      type: 'interaction_pending',
      ...shared,
      pending: true,
      reason: 'requested',
    },
    {
      seq: seq + 1,
      id: newId(),
      sessionId,
      at,
      type: 'interaction_request',
      ...shared,
      kind: 'question',
      request,
      digest: 'd'.repeat(64),
      requestedAt: at,
      onTimeout: 'deny',
    },
  ]
}

/**
 * @param {unknown} events Events as a desk would make them.
 * @returns {import('@askback/protocol').SessionEvent[]}
 */
function typed(events) {
  return /** @type {import('@askback/protocol').SessionEvent[]} */ (events)
}

async function prepare() {
  const ids = Array.from({ length: AT_ONCE }, () => newId())
  const start = (/** @type {string} */ sessionId) => [
    {
      seq: 1,
      id: newId(),
      sessionId,
      at: Date.now(),
      type: 'session_started',
      agent: null,
      permissionMode: 'default',
    },
  ]
  await Promise.all(
    ids.map((sessionId) => store.append({ sessionId, expectedSeq: 0, events: typed(start(sessionId)) })),
  )
  await client.query('INSERT INTO raw.sessions SELECT * FROM askback.sessions WHERE id = ANY($1)', [ids])
  /** @type {import('pg').QueryResult<{ id: string; key: string }>} */
  const { rows } = await client.query('SELECT id, key FROM raw.sessions WHERE id = ANY($1)', [ids])
  return { ids, keys: new Map(rows.map(({ id, key }) => [id, key])) }
}

const { ratio, a } = await interleave({
  prepare,
  a: ({ ids }) =>
    timed(() =>
      Promise.all(
        ids.map(async (sessionId) => {
          for (let turn = 0; turn < EACH; turn++) {
            const expectedSeq = 1 + turn * 2
            const events = typed(questionEvents(sessionId, expectedSeq + 1))
            const { ok } = await store.append({ sessionId, expectedSeq, events })
            if (!ok) throw new Error('An append conflicted.')
          }
        }),
      ),
    ),
  b: ({ ids, keys }) =>
    timed(async () => {
      for (let turn = 0; turn < EACH; turn++) {
        const last = 3 + turn * 2
        const batches = ids.map((id) => questionEvents(id, last - 1))
        await client.query(INSERT, [
          ids.map(() => ++pos),
          ids.map((id) => keys.get(id)),
          ids.map(() => last - 1),
          ids.map(() => last),
          batches.map((events) => JSON.stringify(events)),
          batches.map(([first]) => first?.interactionId),
        ])
      }
    }),
})
await client.end()
await store.close()
await server.remove()
report([
  { what: 'appends of 64 at once, against bare inserts', value: 1 / ratio, unit: '×', atLeast: 0.5 },
  { what: 'the same, a second', value: (AT_ONCE * EACH * 1000) / a },
])
