import { createDesk, type Append, type Store } from '@askback/core'
import { ask, SessionScript, text } from '@askback/core/testing'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { appendParameters } from './append-batch.js'
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

it('[L3] one of many appends on the same seq wins, whichever process sent it', async () => {
  const script = new SessionScript('s')
  await here.append(script.start())
  const attempts = Array.from({ length: 20 }, (_, index) => script.attempt(1, text(`answer ${index}`)))
  const results = await Promise.all(attempts.map((attempt, index) => both()[index % 2]!.append(attempt)))
  const winners = attempts.filter((_, index) => results[index]!.ok)
  expect(winners).toHaveLength(1)
  for (const store of both())
    expect(await store.read({ sessionId: 's', after: 1, limit: 100 })).toEqual(winners[0]!.events)
})

it('a session, and a key, is made by one of those who make it at once', async () => {
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

it('appends to the same sessions in another order wait for each other', async () => {
  const ids = Array.from({ length: 40 }, (_, index) => `s${index}`)
  await Promise.all(ids.map((id) => here.append(new SessionScript(id).start())))
  for (let round = 0; round < 5; round++) {
    const send = (store: Store, order: string[]) =>
      order.map((id) => store.append(new SessionScript(id).attempt(1 + round, text(id))))
    const results = await Promise.all([...send(here, ids), ...send(there, ids.toReversed())])
    expect(results.filter(({ ok }) => ok)).toHaveLength(ids.length)
  }
})

it('changes are never read past one that is still under way', async () => {
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
  await waitsForALock()
  expect(read).toBe(false)
  await slow.query('COMMIT')
  expect((await changes).map(({ events }) => events)).toEqual([first.events, second.events])
  await slow.end()
})

it('what was rolled back leaves a hole that holds nobody up', async () => {
  const cursor = await here.head()
  const slow = new Client(server.url())
  await slow.connect()
  await slow.query('BEGIN')
  await send(slow, new SessionScript('gone').start())
  await slow.query('ROLLBACK')
  await slow.end()
  const kept = new SessionScript('kept').start()
  await there.append(kept)
  expect((await here.changes({ after: cursor, limit: 10 })).map(({ events }) => events)).toEqual([
    kept.events,
  ])
})

it('an erasure there is told here, and ends what was waited for', async () => {
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

it('the index of what is pending follows appends of both', async () => {
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
  const places = parameters.map((_, index) => `$${index + 1}`).join(', ')
  await client.query(`SELECT ${schema}.append(${places})`, parameters)
}

async function waitsForALock(): Promise<void> {
  const look = new Client(server.url())
  await look.connect()
  await expect
    .poll(
      async () =>
        (await look.query("SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")).rowCount,
    )
    .toBeGreaterThan(0)
  await look.end()
}
