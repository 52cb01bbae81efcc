// From an answer at one gateway until the agent at the other continues, against bare statements that write the same rows.
import { createDesk, storeOnBus } from '@askback/core'
import { postgresBus, postgresStore } from '@askback/store-postgres'
import { startPostgres } from '@askback/store-postgres/testing'
import { Client } from 'pg'
import { median, report } from '../core/measure.mjs'

const ROUNDS = 5
const ANSWERS = 200

const request = {
  questions: [{ header: 'h', question: 'Which?', options: [{ label: 'This' }], multiSelect: false }],
}
const answer = { answers: [{ selected: ['This'] }] }
const server = await startPostgres({ durable: true })

async function member() {
  const store = await postgresStore({ url: server.url() })
  const bus = await postgresBus({ url: server.url() })
  const desk = createDesk({ store: storeOnBus(store, bus) })
  await desk.ready
  const close = async () => {
    desk.close()
    await bus.close()
    await store.close()
  }
  return { desk, close }
}

const here = await member()
const there = await member()
const { session } = await here.desk.createSession({ agent: null })
await there.desk.snapshot(session.id)

async function ours() {
  const times = []
  const person = there.desk.as({ by: { id: 'p' } })
  for (let index = 0; index < ANSWERS; index++) {
    const { interaction } = await here.desk.open({ sessionId: session.id, kind: 'question', request })
    const { interactionId } = interaction
    const settled = here.desk.wait(interactionId, { sessionId: session.id })
    await there.desk.snapshot(session.id)
    const started = performance.now()
    void person.respond({ sessionId: session.id, interactionId, answer })
    await settled
    times.push(performance.now() - started)
  }
  return median(times)
}

/** The bare side: the answer with a notification, a read at the other side, and the claim. */
const one = new Client(server.url())
const other = new Client(server.url())
await one.connect()
await other.connect()
await one.query(`CREATE SCHEMA raw;
  CREATE TABLE raw.sessions (LIKE askback.sessions INCLUDING ALL);
  CREATE TABLE raw.log (LIKE askback.log INCLUDING ALL);
  CREATE TABLE raw.interactions (LIKE askback.interactions INCLUDING ALL);
  CREATE TABLE raw.audit (LIKE askback.audit INCLUDING ALL);
  INSERT INTO raw.sessions SELECT * FROM askback.sessions`)
await other.query('LISTEN raw')
/** @type {import('pg').QueryResult<{ key: string; seq: string }>} */
const { rows } = await one.query('SELECT key, seq FROM raw.sessions')
const key = Number(rows[0]?.key)
let seq = Number(rows[0]?.seq)
let pos = 0

const SETTLE = `WITH l AS (INSERT INTO raw.log VALUES ($1, $2, $3::bigint - 1, $3, $4)),
  s AS (UPDATE raw.sessions SET seq = $3, updated_at = 1 WHERE key = $2),
  i AS (UPDATE raw.interactions SET response = $1, response_at = 0, pending = false WHERE id = $5),
  a AS (INSERT INTO raw.audit VALUES ($1, $2, $6, NULL))
  SELECT pg_notify('raw', $5)`
const DELIVER = `WITH l AS (INSERT INTO raw.log VALUES ($1, $2, $3, $3, $4)),
  s AS (UPDATE raw.sessions SET seq = $3, updated_at = 1 WHERE key = $2)
  UPDATE raw.interactions SET delivered = true WHERE id = $5`

async function raw() {
  const times = []
  const settledBody = await bodyOf('interaction_response')
  const deliveredBody = await bodyOf('interaction_delivered')
  for (let index = 0; index < ANSWERS; index++) {
    const id = `i${pos}`
    await one.query(
      'INSERT INTO raw.interactions VALUES ($1, $2, $3, $1, 0, 0, NULL, NULL, NULL, NULL, false, true, 1)',
      [id, pos, key],
    )
    const started = performance.now()
    const notified = new Promise((resolve) => other.once('notification', resolve))
    void one.query(SETTLE, [++pos, key, (seq += 2), settledBody, id, settledBody.slice(0, 300)])
    await notified
    await other.query('SELECT body FROM raw.log WHERE session = $1 AND last_seq > $2 ORDER BY last_seq', [
      key,
      seq - 2,
    ])
    await other.query(DELIVER, [++pos, key, ++seq, deliveredBody, id])
    times.push(performance.now() - started)
  }
  return median(times)
}

/** @param {string} type */
async function bodyOf(type) {
  /** @type {import('pg').QueryResult<{ body: string }>} */
  const found = await one.query('SELECT body FROM askback.log WHERE body LIKE $1 ORDER BY pos DESC LIMIT 1', [
    `%"type":"${type}"%`,
  ])
  return found.rows[0]?.body ?? ''
}

const ratios = []
const p50 = []
for (let round = -1; round < ROUNDS; round++) {
  const cost = { ours: await ours(), raw: await raw() }
  if (round < 0) continue
  ratios.push(cost.ours / cost.raw)
  p50.push(cost.ours)
}
await Promise.all([one.end(), other.end(), here.close(), there.close()])
await server.remove()
report([
  {
    what: 'answer on B → agent on A resumes, against bare statements',
    value: median(ratios),
    unit: '×',
    atMost: 3,
  },
  { what: 'the same, p50', value: median(p50), unit: ' ms' },
])
