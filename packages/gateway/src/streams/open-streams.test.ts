import { describe, expect, it } from 'vitest'
import { getJson, openSse } from './sse-client.test.helper.js'
import { sessionWith, streamServer, type StreamServer } from './stream-server.test.helper.js'
import { wsClient } from './ws-client.test.helper.js'

describe('an open stream', () => {
  it('gets a heartbeat every 15 seconds, with one timer for all streams', async () => {
    const { server, events } = await withSession()
    expect(server.clock.armed).toBe(0)
    const clients = [await openSse(server.port, events), await openSse(server.port, '/api/events')]
    expect(server.clock.armed).toBe(1)
    for (const client of clients) await firstBeat(server, client)
    server.clock.advance(15_000)
    for (const client of clients) expect(await client.next()).toEqual({ comment: true })
    expect(server.clock.armed).toBe(1)
  })

  it('leaves no timer behind', async () => {
    const { server, events } = await withSession()
    const client = await openSse(server.port, events)
    client.close()
    await expect.poll(() => server.clock.armed).toBe(0)
    expect(server.streams.open).toEqual({ sse: 0, ws: 0 })
  })

  it('is closed with the request to reconnect when the gateway drains, and no other is opened', async () => {
    const { server, id, events } = await withSession()
    const clients = [await openSse(server.port, events), await openSse(server.port, '/api/events')]
    const socket = await wsClient(server.port)
    await socket.ask({ op: 'subscribe', sessionId: id, after: 0 })
    await server.streams.drain()
    for (const client of clients) {
      await client.ended
      expect(client.messages.at(-1)).toEqual({ retry: '1750' })
    }
    expect(await socket.closed).toBe(1012)
    expect(await getJson(server.port, events, { accept: '*/*' })).toMatchObject({
      status: 503,
      body: { error: { code: 'unavailable' } },
    })
    await expect(wsClient(server.port)).rejects.toThrow('503')
  })

  it('is disconnected by a drain after the grace period', async () => {
    const { server } = await withSession()
    const socket = await wsClient(server.port)
    socket.ws.pause()
    const drained = server.streams.drain(2000)
    server.clock.advance(2000)
    await drained
    expect(server.streams.open.ws).toBe(0)
  })

  it('is disconnected when its credential is revoked, and no other is', async () => {
    const { server, id, events } = await withSession()
    const mine = await openSse(server.port, events)
    const theirs = await openSse(server.port, events, { 'x-caller': `agent of ${id}` })
    const socket = await wsClient(server.port, { 'x-caller': `agent of ${id}` })
    server.streams.revoke(`agent of ${id}`)
    await theirs.ended
    await socket.closed
    await expect.poll(() => server.streams.open).toEqual({ sse: 1, ws: 0 })
    expect(mine.response.closed).toBe(false)
  })

  it('is refused above the limit', async () => {
    const { server, events } = await withSession({ streams: 2 })
    await openSse(server.port, events)
    const second = await openSse(server.port, '/api/events')
    const refused = await getJson(server.port, events, { accept: '*/*' })
    expect(refused).toMatchObject({ status: 429, body: { error: { code: 'rate_limited' } } })
    expect(refused.headers['retry-after']).toMatch(/^\d+$/)
    second.close()
    await expect.poll(() => server.streams.open.sse).toBe(1)
    expect((await openSse(server.port, events)).response.statusCode).toBe(200)
  })
})

/** Skips the events with which the stream starts. */
async function firstBeat(server: StreamServer, client: Awaited<ReturnType<typeof openSse>>): Promise<void> {
  server.clock.advance(15_000)
  while (!(await client.next()).comment);
}

async function withSession(config = {}) {
  const server = await streamServer({ config })
  const id = await sessionWith(server, 1)
  return { server, id, events: `/api/sessions/${id}/events` }
}
