import { createDesk, storeOnBus, type Bus, type Desk, type Store } from '@askback/core'
import { busContract } from '@askback/core/testing'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { postgresBus, postgresStore } from './index.js'
import { NotificationListener } from './postgres-bus.js'
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

it('ignores what other programs send on its channel', async () => {
  const schema = `bus ${buses++}`
  const bus = await postgresBus({ url: server.url(), schema })
  const other = await postgresBus({ url: server.url(), schema })
  const received: unknown[] = []
  bus.on((message) => received.push(message))
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
  await expect.poll(() => received).toEqual([ring])
  await Promise.all([bus.close(), other.close()])
})

it('sends messages of one tick in one notification', async () => {
  const schema = `bus ${buses++}`
  const bus = await postgresBus({ url: server.url(), schema })
  const received: string[] = []
  admin.on('notification', ({ payload = '' }) => received.push(payload))
  await admin.query(`LISTEN "askback ${schema}"`)
  for (const sessionId of ['a', 'b', 'c']) bus.publish({ type: 'append', sessionId, eventId: 'e' })
  await expect.poll(() => received).toHaveLength(1)
  expect(JSON.parse(received[0]!)).toMatchObject({ messages: [{ sessionId: 'a' }, { sessionId: 'b' }, {}] })
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

  async function openQuestion(desk: Desk) {
    const { session } = await desk.createSession({ agent: null })
    const { interaction } = await desk.open({ sessionId: session.id, kind: 'question', request })
    return { ...interaction, settled: desk.wait(interaction.interactionId) }
  }

  it('an answer at one desk resolves a wait at the other', async () => {
    const { here, there } = await twoDesks()
    const { interactionId, settled } = await openQuestion(here)
    await there.as({ by: { id: 'ada' } }).respond({ interactionId, answer })
    expect(await settled).toMatchObject({ settlement: 'answered', answer })
  })

  it('an answer arrives with the next poll of the store while the bus is closed', async () => {
    const { here, there, members } = await twoDesks({ repairMs: 100 })
    await Promise.all(members.map((bus) => bus.close()))
    const { interactionId, settled } = await openQuestion(here)
    await there.as({ by: { id: 'ada' } }).respond({ interactionId, answer })
    expect(await settled).toMatchObject({ settlement: 'answered' })
  })

  it('an answer arrives after the connections that listen were lost and opened again', async () => {
    const { here, there } = await twoDesks()
    const listeningConnections = () =>
      admin.query<{ pid: number }>(
        "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND state = 'idle'",
      )
    // Connections of earlier tests end a moment after they were closed.
    await expect.poll(async () => (await listeningConnections()).rows).toHaveLength(2)
    const before = (await listeningConnections()).rows
    await admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")
    await expect
      .poll(async () =>
        (await listeningConnections()).rows.filter(({ pid }) => !before.some((old) => old.pid === pid)),
      )
      .toHaveLength(2)
    const { interactionId, settled } = await openQuestion(here)
    await there.as({ by: { id: 'ada' } }).respond({ interactionId, answer })
    expect(await settled).toMatchObject({ settlement: 'answered' })
  })
})

it('fails to open if its database does not answer, and says so', async () => {
  await expect(postgresBus({ url: 'postgres://127.0.0.1:1/x' })).rejects.toThrow('does not answer')
  await expect(
    postgresBus({ url: server.url(), listenUrl: server.url({ database: 'nowhere' }) }),
  ).rejects.toThrow('does not exist')
})

/** A server that accepts clients by the protocol of PostgreSQL and rejects every statement. */
function rejectingServer(connected: (socket: Socket) => void) {
  const message = (type: string, body: Buffer) => {
    const head = Buffer.alloc(5)
    head.write(type)
    head.writeInt32BE(body.length + 4, 1)
    return Buffer.concat([head, body])
  }
  const ready = message('Z', Buffer.from('I'))
  const rejection = message('E', Buffer.from('SERROR\0C57014\0Mcanceling statement\0\0'))
  return createServer((socket) => {
    connected(socket)
    socket.once('data', () => {
      socket.write(Buffer.concat([message('R', Buffer.alloc(4)), ready]))
      socket.on('data', () => socket.writable && socket.write(Buffer.concat([rejection, ready])))
    })
    socket.on('error', () => undefined)
  })
}

it('closes a connection whose LISTEN failed', async () => {
  const open = new Set<Socket>()
  const server = rejectingServer((socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const listener = new NotificationListener({ host: '127.0.0.1', port, user: 'u' }, 'news', () => undefined)
  await expect(listener.open()).rejects.toThrow('canceling statement')
  await expect.poll(() => open.size).toBe(0)
  await listener.close()
  server.close()
})
