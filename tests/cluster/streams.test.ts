import { createDesk, storeOnBus, type Desk, type Host, type Store } from '@askback/core'
import { postgresBus, postgresStore } from '@askback/store-postgres'
import { startPostgres, type PostgresServer } from '@askback/store-postgres/testing'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { FakeSocket } from '../../packages/gateway/src/streams/fake-socket.test.helper.js'
import { Feeds } from '../../packages/gateway/src/streams/feed.js'
import { isInLog } from '../../packages/gateway/src/streams/feed.js'
import { PageCache } from '../../packages/gateway/src/streams/pages.js'
import { FaultyProxy } from '../transports/faulty-proxy.js'

const REPAIR_MS = 300
const person = { by: { id: 'me' }, via: 'direct' } as const

let server: PostgresServer
let schemas = 0

beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.remove())

/** A desk with streams on PostgreSQL. With `withoutDoorbells` it only polls. */
async function gateway(schema: string, { withoutDoorbells = false, url = server.url() } = {}) {
  const log = await postgresStore({ url, schema, connections: 4 })
  const bus = await postgresBus({ url: server.url(), schema })
  const store: Store = withoutDoorbells ? { ...log, onAppend: () => () => undefined } : storeOnBus(log, bus)
  const onError = () => undefined
  const desk = createDesk({ store, onError, repairMs: REPAIR_MS })
  const host = { desk, liveBlocks: () => [], onLive: () => () => undefined } as unknown as Host
  const encoding = {
    events: (events: { seq: number }[]) => Buffer.from(events.map(({ seq }) => `${seq} `).join('')),
    live: () => Buffer.from(''),
    resync: () => Buffer.from('resync '),
  }
  const cache = new PageCache(1e6)
  const feeds = new Feeds({ host, store, cache, encoding, bufferBytes: Infinity, onError })
  onTestFinished(async () => {
    desk.close()
    await bus.close()
    await log.close()
  })
  await desk.ready
  const read = async (sessionId: string, cursor: number) => {
    const feed = feeds.acquire(sessionId)
    await isInLog(feed, cursor, undefined)
    const socket = new FakeSocket()
    const reader = { socket, isFinished: false }
    feed.add({ socket: socket.socket, cursor, finish: () => void (reader.isFinished = true) })
    return reader
  }
  return { desk, read }
}

const say = (desk: Desk, sessionId: string) =>
  desk.as(person).message({ sessionId, text: 'x', route: 'agent' })

describe('streams on PostgreSQL', () => {
  it('deliver what another gateway wrote while a snapshot was loaded here', async () => {
    const schema = `streams_${schemas++}`
    const [there, here] = [await gateway(schema), await gateway(schema)]
    for (let round = 0; round < 20; round++) {
      const id = `s${round}`
      await there.desk.createSession({ id })
      const reader = await here.read(id, 1)
      await say(there.desk, id)
      await here.desk.snapshot(id)
      await expect.poll(() => reader.socket.written, { interval: 5 }).toBe('2 ')
    }
  })

  it('end at a gateway that only polls when their session is deleted at another', async () => {
    const schema = `streams_${schemas++}`
    const [there, here] = [await gateway(schema), await gateway(schema, { withoutDoorbells: true })]
    const readers: { isFinished: boolean }[] = []
    for (let round = 0; round < 5; round++) {
      const id = `s${round}`
      await there.desk.createSession({ id })
      await here.desk.snapshot(id)
      readers.push(await here.read(id, 1))
      await there.desk.deleteSession(id)
    }
    await expect.poll(() => readers.filter(({ isFinished }) => !isFinished)).toEqual([])
  })
})

it('a gateway with 300 ms to the database can append beside one that appends continuously', async () => {
  const proxy = new FaultyProxy(Number(new URL(server.url()).port))
  const url = new URL(server.url())
  url.port = new URL(await proxy.listen()).port
  const schema = `streams_${schemas++}`
  const near = await gateway(schema)
  const far = await gateway(schema, { url: url.href })
  onTestFinished(() => proxy.close())
  await near.desk.createSession({ id: 's' })
  await far.desk.snapshot('s')
  proxy.delay(300)
  const over = new AbortController()
  let written = 0
  const busy = Array.from({ length: 8 }, async () => {
    while (!over.signal.aborted) {
      const text = { type: 'text', blockId: `b${written++}`, text: 'x' } as const
      await near.desk.report({ sessionId: 's', events: [text] })
    }
  })
  await expect.poll(() => written).toBeGreaterThan(50)
  for (let count = 0; count < 2; count++) {
    const before = written
    expect(await say(far.desk, 's')).toMatchObject({ routed: 'log' })
    expect(written).toBeGreaterThan(before)
  }
  proxy.delay(0)
  over.abort()
  await Promise.all(busy)
})
