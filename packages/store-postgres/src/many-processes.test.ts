import { createDesk, type Append, type Store } from '@askback/core'
import { ask, SessionScript, text } from '@askback/core/testing'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { appendParameters } from './append-parameters.js'
import { postgresStore } from './index.js'
import { startPostgres, type PostgresServer } from './testing/index.js'

let server: PostgresServer
let schema: string
let schemas = 0
let here: Store
let there: Store

beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.remove())
beforeEach(async () => {
  schema = `many_${schemas++}`
  here = await postgresStore({ url: server.url(), schema, connections: 4 })
  there = await postgresStore({ url: server.url(), schema, connections: 4 })
})
afterEach(() => Promise.all([here.close(), there.close()]))

const both = () => [here, there]

it('[L3] one of many appends on the same seq wins, from either process', async () => {
  const script = new SessionScript('s')
  await here.append(script.start())
  const attempts = Array.from({ length: 20 }, (_, index) => script.attempt(1, text(`answer ${index}`)))
  const results = await Promise.all(attempts.map((attempt, index) => both()[index % 2]!.append(attempt)))
  const winners = attempts.filter((_, index) => results[index]!.ok)
  expect(winners).toHaveLength(1)
  for (const store of both())
    expect(await store.read({ sessionId: 's', after: 1, limit: 100 })).toEqual(winners[0]!.events)
})

it('a session or key that two processes create at once is created by one of them', async () => {
  for (let round = 0; round < 10; round++) {
    const starts = both().map((store) =>
      store.append({
        ...new SessionScript(`s${round}`).start(),
        kv: [{ key: `k${round}`, value: 1, ifAbsent: true }],
      }),
    )
    expect((await Promise.all(starts)).filter(({ ok }) => ok)).toHaveLength(1)
    const others = both().map((store, index) =>
      store.append({
        ...new SessionScript(`s${round}-${index}`).start(),
        kv: [{ key: `other${round}`, value: 1, ifAbsent: true }],
      }),
    )
    const results = await Promise.all(others)
    expect(results.filter(({ ok }) => ok)).toHaveLength(1)
    expect(results).toContainEqual({ ok: false, conflict: 'kv' })
    const puts = await Promise.all(both().map((store) => store.kv.put(`put${round}`, 1, null)))
    expect(puts.filter(Boolean)).toHaveLength(1)
  }
})

it('batches with the same sessions in opposite order do not deadlock', async () => {
  const ids = Array.from({ length: 40 }, (_, index) => `s${index}`)
  await Promise.all(ids.map((id) => here.append(new SessionScript(id).start())))
  for (let round = 0; round < 5; round++) {
    const send = (store: Store, order: string[]) =>
      order.map((id) => store.append(new SessionScript(id).attempt(1 + round, text(id))))
    const results = await Promise.all([...send(here, ids), ...send(there, ids.toReversed())])
    expect(results.filter(({ ok }) => ok)).toHaveLength(ids.length)
  }
})

it('changes wait for an earlier append that is not committed yet', async () => {
  const cursor = await here.head()
  const slow = new Client(server.url())
  await slow.connect()
  await slow.query('BEGIN')
  const first = new SessionScript('slow').start()
  await send(slow, first)
  const second = new SessionScript('fast').start()
  await there.append(second)

  let read = false
  const changes = here.changes({ after: cursor, limit: 10 }).finally(() => (read = true))
  await expectLockWait()
  expect(read).toBe(false)
  await slow.query('COMMIT')
  expect((await changes).map(({ events }) => events)).toEqual([first.events, second.events])
  await slow.end()
})

it('the gap in the positions after a rollback delays nobody', async () => {
  const cursor = await here.head()
  const slow = new Client(server.url())
  await slow.connect()
  await slow.query('BEGIN')
  await send(slow, new SessionScript('gone').start())
  await slow.query('ROLLBACK')
  await slow.end()
  const other = new SessionScript('other').start()
  await there.append(other)
  expect((await here.changes({ after: cursor, limit: 10 })).map(({ events }) => events)).toEqual([
    other.events,
  ])
})

it('an erasure in one process ends the waits in the other', async () => {
  const [desk, other] = both().map((store) => createDesk({ store, repairMs: 50 })) as [
    ReturnType<typeof createDesk>,
    ReturnType<typeof createDesk>,
  ]
  await desk.createSession({ id: 's' })
  const request = { questions: [{ header: 'h', question: 'q', options: [], multiSelect: false }] }
  const { interaction } = await desk.open({ sessionId: 's', kind: 'question', request })
  const waited = desk.wait(interaction.interactionId).catch((error: unknown) => error)
  await other.deleteSession('s')
  const end = await waited
  expect(['cancelled', 'not_found']).toContain(
    (end as { settlement?: string }).settlement ?? (end as { code: string }).code,
  )
  desk.close()
  other.close()
})

it('the index of pending interactions contains those of both processes', async () => {
  const script = new SessionScript('s')
  await here.append(script.start())
  await here.append(script.next(...ask('i')))
  await there.append(script.next(...ask('j')))
  for (const store of both()) {
    expect((await store.pending({ limit: 10 })).items.map(({ interactionId }) => interactionId)).toEqual([
      'i',
      'j',
    ])
    expect(await store.countPending()).toBe(2)
  }
})

async function send(client: Client, append: Append): Promise<void> {
  const parameters = appendParameters([append])
  const placeholders = parameters.map((_, index) => `$${index + 1}`).join(', ')
  await client.query(`SELECT ${schema}.append(${placeholders})`, parameters)
}

async function expectLockWait(): Promise<void> {
  const client = new Client(server.url())
  await client.connect()
  await expect
    .poll(
      async () =>
        (await client.query("SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")).rowCount,
    )
    .toBeGreaterThan(0)
  await client.end()
}
