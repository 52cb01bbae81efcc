import { createDesk, storeOnBus, type Bus, type Desk, type Store } from '@askback/core'
import { busContract } from '@askback/core/testing'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { postgresBus, postgresStore } from './index.js'
import { startPostgres, type PostgresServer } from './testing/index.js'

let server: PostgresServer
let admin: Client
beforeAll(async () => {
  server = await startPostgres()
  admin = new Client(server.url())
  await admin.connect()
})
afterAll(async () => {
  await admin.end()
  await server.remove()
})

let buses = 0
busContract('PostgreSQL', () => {
  const schema = `bus ${buses++}`
  return Promise.resolve({
    join: () => postgresBus({ url: server.url(), schema }),
    end: () => Promise.resolve(),
  })
})

it('what others notify on its channel is no message, and does no harm', async () => {
  const schema = `bus ${buses++}`
  const bus = await postgresBus({ url: server.url(), schema })
  const other = await postgresBus({ url: server.url(), schema })
  const heard: unknown[] = []
  bus.on((message) => heard.push(message))
  const ring = { type: 'append', sessionId: 's', eventId: 'e' } as const
  const live = { type: 'live', sessionId: 's', event: { type: 'text_delta', text: 7 } }
  const texts = [
    'garbage',
    'null',
    '{"from":1}',
    JSON.stringify({
      from: 'x',
      messages: [null, 3, { type: 'append' }, { ...ring, eventId: 7 }, live, { type: 'x' }],
    }),
  ]
  for (const text of texts) await admin.query('SELECT pg_notify($1, $2)', [`askback ${schema}`, text])
  other.publish(ring)
  await expect.poll(() => heard).toEqual([ring])
  await Promise.all([bus.close(), other.close()])
})

it('what is published in one moment is one message', async () => {
  const schema = `bus ${buses++}`
  const bus = await postgresBus({ url: server.url(), schema })
  const heard: string[] = []
  admin.on('notification', ({ payload = '' }) => heard.push(payload))
  await admin.query(`LISTEN "askback ${schema}"`)
  for (const sessionId of ['a', 'b', 'c']) bus.publish({ type: 'append', sessionId, eventId: 'e' })
  await expect.poll(() => heard).toHaveLength(1)
  expect(JSON.parse(heard[0]!)).toMatchObject({ messages: [{ sessionId: 'a' }, { sessionId: 'b' }, {}] })
  await admin.query('UNLISTEN *')
  admin.removeAllListeners('notification')
  await bus.close()
})

describe('two desks on one PostgreSQL', () => {
  let ends: (() => Promise<void> | void)[] = []
  afterEach(async () => {
    for (const end of ends.toReversed()) await end()
    ends = []
  })

  async function twoDesks({ repairMs = 60_000 } = {}): Promise<{ here: Desk; there: Desk; members: Bus[] }> {
    const schema = `desks ${buses++}`
    const members: Bus[] = []
    const make = async () => {
      const store: Store = await postgresStore({ url: server.url(), schema, connections: 3 })
      const bus = await postgresBus({ url: server.url(), schema })
      members.push(bus)
      const desk = createDesk({ store: storeOnBus(store, bus), repairMs })
      ends.push(
        () => store.close(),
        () => bus.close(),
        () => desk.close(),
      )
      await desk.ready
      return desk
    }
    return { here: await make(), there: await make(), members }
  }

  const request = {
    questions: [{ header: 'h', question: 'q', options: [{ label: 'Yes' }], multiSelect: false }],
  }
  const answer = { answers: [{ selected: ['Yes'] }] }

  async function asked(desk: Desk) {
    const { session } = await desk.createSession({ agent: null })
    const { interaction } = await desk.open({ sessionId: session.id, kind: 'question', request })
    return { ...interaction, settled: desk.wait(interaction.interactionId) }
  }

  it('an answer there wakes whoever waits here', async () => {
    const { here, there } = await twoDesks()
    const { interactionId, settled } = await asked(here)
    await there.respond({ interactionId, answer, by: { id: 'ada' } })
    expect(await settled).toMatchObject({ settlement: 'answered', answer })
  })

  it('a bus that is cut costs time, never an answer: the next look at the store finds it', async () => {
    const { here, there, members } = await twoDesks({ repairMs: 100 })
    await Promise.all(members.map((bus) => bus.close()))
    const { interactionId, settled } = await asked(here)
    await there.respond({ interactionId, answer, by: { id: 'ada' } })
    expect(await settled).toMatchObject({ settlement: 'answered' })
  })

  it('hears again after its connection was cut', async () => {
    const { here, there } = await twoDesks()
    const listening = () =>
      admin.query<{ pid: number }>(
        "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND state = 'idle'",
      )
    // Those of earlier tests end a moment after they were told to.
    await expect.poll(async () => (await listening()).rows).toHaveLength(2)
    const before = (await listening()).rows
    await admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")
    await expect
      .poll(async () => (await listening()).rows.filter(({ pid }) => !before.some((old) => old.pid === pid)))
      .toHaveLength(2)
    const { interactionId, settled } = await asked(here)
    await there.respond({ interactionId, answer, by: { id: 'ada' } })
    expect(await settled).toMatchObject({ settlement: 'answered' })
  })
})

it('a bus whose database does not answer says so at the start', async () => {
  await expect(postgresBus({ url: 'postgres://127.0.0.1:1/x' })).rejects.toThrow('does not answer')
  await expect(
    postgresBus({ url: server.url(), listenUrl: server.url({ database: 'nowhere' }) }),
  ).rejects.toThrow('does not exist')
})
