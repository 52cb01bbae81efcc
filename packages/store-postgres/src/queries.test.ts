import type { Store } from '@askback/core'
import { ask, SessionScript } from '@askback/core/testing'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { postgresStore } from './index.js'
import { startPostgres, type PostgresServer } from './testing/index.js'

let server: PostgresServer
let admin: Client
let schemas = 0
beforeAll(async () => {
  server = await startPostgres()
  admin = new Client(server.url())
  await admin.connect()
})
afterAll(async () => {
  await admin.end()
  await server.remove()
})

async function open(schema = `news_${schemas++}`): Promise<Store & { schema: string }> {
  const store = await postgresStore({ url: server.url(), schema, connections: 2 })
  onTestFinished(() => store.close())
  return { ...store, schema }
}

const changedAfter = (store: Store, after: string, limit = 100) => store.changedSessions!({ after, limit })

it('changed sessions are listed with their last seq, and erased ones without', async () => {
  const store = await open()
  const [a, b] = [new SessionScript('a\u0000'), new SessionScript('b')]
  const beginning = await store.head()
  for (const append of [a.start(), b.start(), a.next(...ask('1'))]) await store.append(append)
  const changed = await changedAfter(store, beginning)
  expect(changed).toMatchObject([
    { sessionId: 'b', reaches: { seq: 1 } },
    { sessionId: 'a\u0000', reaches: { seq: 3 } },
  ])
  expect(changed.at(-1)!.cursor).toBe(await store.head())
  await store.erase('b')
  await store.append(new SessionScript('b').start())
  expect(await changedAfter(store, changed.at(-1)!.cursor)).toMatchObject([
    { sessionId: 'b' },
    { sessionId: 'b', reaches: { seq: 1 } },
  ])
})

it('changed sessions are listed after a page of rows that all belong to a half-erased session', async () => {
  const store = await open()
  const [gone, script] = [new SessionScript('gone'), new SessionScript('s')]
  await store.append(gone.start())
  for (let count = 0; count < 5; count++) await store.append(gone.next(...ask(`${count}`)))
  await store.append(script.start())
  await admin.query(`DELETE FROM ${store.schema}.sessions WHERE id = 'gone'`)
  expect(await changedAfter(store, '0', 3)).toMatchObject([{ sessionId: 's', reaches: { seq: 1 } }])
})

it('the list of changed sessions waits for an earlier append that is not committed yet', async () => {
  const store = await open()
  const other = await open(store.schema)
  await store.append(new SessionScript('s').start())
  const cursor = await store.head()
  await admin.query('BEGIN')
  const lock = `hashtext('askback'), hashtext('${store.schema}')`
  await admin.query(`SELECT pg_advisory_xact_lock_shared(${lock}), nextval('${store.schema}.positions')`)
  await other.append(new SessionScript('t').start())
  let isRead = false
  const changed = changedAfter(store, cursor).finally(() => (isRead = true))
  const waits = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`
  const watcher = new Client(server.url())
  await watcher.connect()
  await expect.poll(async () => (await watcher.query(waits)).rowCount).toBe(1)
  await watcher.end()
  expect(isRead).toBe(false)
  await admin.query('ROLLBACK')
  expect(await changed).toMatchObject([{ sessionId: 't', reaches: { seq: 1 } }])
})

it('deadlines are those before a time, without those at which nothing happens', async () => {
  const store = await open()
  const script = new SessionScript('s')
  await store.append(script.start())
  await store.append(
    script.next(
      ...ask('soon', { expiresAt: 5 }),
      ...ask('late', { expiresAt: 50 }),
      ...ask('kept', { expiresAt: 5, onTimeout: 'keep' }),
    ),
  )
  expect(await store.deadlines({ before: 10 })).toMatchObject([{ interactionId: 'soon' }])
  expect(await store.interaction('kept')).toMatchObject({ expiresAt: 5, onTimeout: 'keep' })
})

it('a schema of the first version is migrated with its content', async () => {
  const before = await open()
  const script = new SessionScript('s')
  await before.append(script.start())
  await before.append(
    script.next(...ask('kept', { expiresAt: 5, onTimeout: 'keep' }), ...ask('i', { expiresAt: 5 })),
  )
  const { schema } = before
  await admin.query(`DROP FUNCTION ${schema}.log_news; DROP TABLE ${schema}.locks; DROP INDEX ${schema}.interactions_due;
    UPDATE ${schema}.interactions SET expires_at = 5; UPDATE ${schema}.meta SET value = 1`)
  const store = await open(schema)
  expect(await store.deadlines({ before: 10 })).toMatchObject([{ interactionId: 'i' }])
  expect(await changedAfter(store, '0')).toMatchObject([{ sessionId: 's', reaches: { seq: 5 } }])
})
