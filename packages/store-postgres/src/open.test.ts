import { answer, ask, SessionScript, text } from '@askback/core/testing'
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresStore } from './index.js'
import { startPostgres, type PostgresServer } from './testing/index.js'

let server: PostgresServer
let admin: Client
let schemas = 0

beforeAll(async () => {
  server = await startPostgres()
  admin = new Client(server.url())
  await admin.connect()
  await admin.query(
    `CREATE ROLE guest LOGIN PASSWORD 'open sesame'; CREATE ROLE writer LOGIN PASSWORD 'open sesame'`,
  )
})
afterAll(async () => {
  await admin.end()
  await server.remove()
})

const newSchema = () => `open_${schemas++}`
const open = (url: string, schema = newSchema(), retryForMs = 60_000) =>
  postgresStore({ url, schema, retryForMs })

async function createdSchema(): Promise<string> {
  const schema = newSchema()
  await (await open(server.url(), schema)).close()
  return schema
}

describe('a database that cannot be used', () => {
  it.each([
    ['has no address', () => 'database', 'must be like postgres://'],
    ['is of another kind', () => 'mysql://host/name', 'must be like postgres://'],
    [
      'has no server',
      () => 'postgres://127.0.0.1:1/name',
      '127.0.0.1:1/name does not answer: start PostgreSQL',
    ],
    ['refuses the password', () => server.url({ user: 'guest', password: 'knock' }), 'refuses the password'],
    ['does not exist', () => server.url({ database: 'nowhere' }), '/nowhere does not exist: create it'],
    [
      'gives too few rights',
      () => server.url({ user: 'guest', password: 'open sesame' }),
      'too few rights: grant it CREATE',
    ],
  ])('%s', async (_what, url, message) => {
    const impatient = () => open(url(), newSchema(), 100)
    await expect(impatient()).rejects.toThrow(message)
    await expect(impatient()).rejects.not.toThrow(/sesame|knock|written/)
  })

  it('has a newer version', async () => {
    const schema = await createdSchema()
    await admin.query(`UPDATE ${schema}.meta SET value = 99`)
    await expect(open(server.url(), schema)).rejects.toThrow(
      /is of version 99, made by a newer Askback.*: update it\.$/,
    )
  })

  it('belongs to another program', async () => {
    const schema = newSchema()
    await admin.query(`CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.theirs ()`)
    await expect(open(server.url(), schema)).rejects.toThrow("is not Askback's, or half made")
    const { rows } = await admin.query(`SELECT FROM pg_tables WHERE schemaname = '${schema}'`)
    expect(rows).toHaveLength(1)
  })

  it('is half migrated', async () => {
    const schema = await createdSchema()
    await admin.query(`DROP TABLE ${schema}.audit`)
    await expect(open(server.url(), schema)).rejects.toThrow('is half migrated: it lacks audit. Restore it')
    await admin.query(`DELETE FROM ${schema}.meta`)
    await expect(open(server.url(), schema)).rejects.toThrow('half migrated')
  })

  it('does not give a user the rights of its owner', async () => {
    const schema = await createdSchema()
    await expect(open(server.url({ user: 'guest', password: 'open sesame' }), schema)).rejects.toThrow(
      'too few rights',
    )
  })
})

it('a user who may not create tables can use existing ones', async () => {
  const schema = await createdSchema()
  await admin.query(`GRANT USAGE ON SCHEMA ${schema} TO writer; GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO writer;
    GRANT ALL ON ALL SEQUENCES IN SCHEMA ${schema} TO writer`)
  const store = await open(server.url({ user: 'writer', password: 'open sesame' }), schema)
  const script = new SessionScript('s')
  expect(await store.append(script.start())).toEqual({ ok: true })
  await store.close()
})

it('a schema of an older version is migrated, and its pending interactions stay pending', async () => {
  const schema = await createdSchema()
  // In that version `append` derived from the response what is pending.
  const { rows } = await admin.query<{ name: string }>(
    `SELECT oid::regprocedure::text AS name FROM pg_proc WHERE pronamespace = '${schema}'::regnamespace AND proname = 'append'`,
  )
  await admin.query(rows.map(({ name }) => `DROP FUNCTION ${name}`).join('; '))
  await admin.query(`UPDATE ${schema}.meta SET value = 2`)
  const store = await open(server.url(), schema)
  const script = new SessionScript('s')
  await store.append(script.start())
  await store.append(script.next(...ask('a'), ...ask('b')))
  await store.append(script.next(...answer('a')))
  expect((await store.pending({ limit: 9 })).items).toMatchObject([{ interactionId: 'b' }])
  await store.close()
})

it('every function has jit off, also in a schema that was created without it', async () => {
  const schema = await createdSchema()
  const settingsOf = async () => {
    const { rows } = await admin.query<{ name: string; settings: string[] }>(
      `SELECT p.proname AS name, p.proconfig AS settings FROM pg_proc p
       JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = '${schema}' AND p.proconfig IS NOT NULL`,
    )
    return rows
  }
  const without = (rows: { name: string; settings: string[] }[]) =>
    rows.filter(({ settings }) => !settings.includes('jit=off')).map(({ name }) => name)
  expect(await settingsOf()).not.toEqual([])
  expect(without(await settingsOf())).toEqual([])
  await admin.query(`ALTER FUNCTION ${schema}.erase RESET jit; UPDATE ${schema}.meta SET value = 3`)
  expect(without(await settingsOf())).toEqual(['erase'])
  await (await open(server.url(), schema)).close()
  expect(without(await settingsOf())).toEqual([])
})

it('stores that open at the same time create one schema', async () => {
  const schema = newSchema()
  const stores = await Promise.all(Array.from({ length: 5 }, () => open(server.url(), schema)))
  const script = new SessionScript('s')
  await stores[0]!.append(script.start())
  for (const store of stores) expect(await store.countSessions()).toBe(1)
  await Promise.all(stores.map((store) => store.close()))
})

it('a connection lost during a statement fails that statement alone', async () => {
  const store = await open(server.url())
  const appends = Promise.allSettled(
    Array.from({ length: 200 }, async (_, index) => {
      await delay(index / 2)
      return store.append(new SessionScript(`s${index}`).start())
    }),
  )
  await delay(50)
  // Waits until the connections are closed: before that, an idle one could still accept a statement and lose it.
  const { rowCount } = await admin.query(
    `SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE application_name = 'askback'`,
  )
  expect(rowCount).toBeGreaterThan(0)
  for (const [index, outcome] of (await appends).entries()) {
    const isThere = (await store.session(`s${index}`)) !== null
    if (outcome.status === 'fulfilled') expect([outcome.value, isThere]).toEqual([{ ok: true }, true])
    else if (!isThere) expect(outcome.reason).toMatchObject({ code: 'unavailable' })
    else expect(outcome.reason).toMatchObject({ code: 'unavailable', details: { outcome: 'unknown' } })
  }
  expect(await store.append(new SessionScript('s').start())).toEqual({ ok: true })
  await store.close()
})

it('statements wait for a server that restarts, and a write that was not sent says so', async () => {
  const own = await startPostgres()
  try {
    const store = await postgresStore({ url: own.url(), retryForMs: 60_000 })
    const script = new SessionScript('s')
    await store.append(script.start())
    await own.stop()
    const late = store.append(script.next(text('sent while the server was stopped')))
    const read = store.read({ sessionId: 's', limit: 10 })
    await own.start()
    expect(await late).toEqual({ ok: true })
    expect((await read).length).toBeGreaterThan(0)
    await store.close()

    const impatient = await postgresStore({ url: own.url(), retryForMs: 50 })
    await own.stop()
    await expect(impatient.append(script.next(text('x')))).rejects.toMatchObject({
      code: 'unavailable',
      details: { outcome: 'not_written' },
    })
    await expect(impatient.session('s')).rejects.toMatchObject({ code: 'unavailable' })
    await impatient.close()
  } finally {
    await own.remove()
  }
})
