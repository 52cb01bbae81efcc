import { connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openSse, parseSse } from './sse-client.test.helper.js'
import { sessionWith, streamServer, type StreamServer } from './stream-server.test.helper.js'

const LARGE = 'x'.repeat(100_000)

describe('a reader that does not read', () => {
  it('is disconnected when too many bytes wait for it, and misses nothing after it reconnects', async () => {
    const server = await streamServer({ config: { bufferBytes: 500_000 } })
    const id = await sessionWith(server, 0)
    const slow = await rawClient(server.port, id)
    const fast = await openSse(server.port, `/api/sessions/${id}/events`)
    slow.pause()
    await fast.next()
    let said = 0
    let read = ''
    while (server.streams.open.sse === 2) {
      await sayLarge(server, id)
      said++
      read = (await fast.next()).id!
    }
    // The limit counts only bytes that the kernel has not accepted.
    expect(said).toBeLessThan(200)
    const seen = await readAll(slow)
    const rest = await openSse(server.port, `/api/sessions/${id}/events`, { 'last-event-id': String(seen) })
    const ids = (await rest.take(said + 1 - seen)).map((message) => Number(message.id))
    expect(ids[0]).toBe(seen + 1)
    expect(ids.at(-1)).toBe(said + 1)
    expect(read).toBe(String(said + 1))
  })

  it('is disconnected when it does not read the pages that it requested', async () => {
    const server = await streamServer()
    const id = await sessionWith(server, 0)
    for (let said = 0; said < 200; said++) await sayLarge(server, id)
    const slow = await rawClient(server.port, id)
    slow.pause()
    server.clock.advance(15_000)
    expect(server.streams.open.sse).toBe(1)
    server.clock.advance(15_000)
    await expect.poll(() => server.streams.open.sse).toBe(0)
    expect(await readAll(slow)).toBeLessThan(201)
  })

  it('stays connected when it reads again in time', async () => {
    const server = await streamServer()
    const id = await sessionWith(server, 0)
    for (let said = 0; said < 200; said++) await sayLarge(server, id)
    const client = await openSse(server.port, `/api/sessions/${id}/events`)
    client.response.pause()
    server.clock.advance(15_000)
    client.response.resume()
    expect((await client.take(201)).at(-1)).toMatchObject({ id: '201' })
    server.clock.advance(15_000)
    expect(await client.next()).toEqual({ comment: true })
  })
})

async function sayLarge({ host }: StreamServer, sessionId: string): Promise<void> {
  await host.desk.as({ by: { id: 'me' } }).message({ sessionId, text: LARGE })
  // A store in memory never yields to the event loop, which sockets need.
  await new Promise((resolve) => setImmediate(resolve))
}

/** Resolves when the response has begun. */
async function rawClient(port: number, sessionId: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => undefined)
  socket.write(`GET /api/sessions/${sessionId}/events HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  await new Promise((resolve) => socket.once('readable', resolve))
  return socket
}

/** The id of the last complete event before the connection was closed. */
async function readAll(socket: Socket): Promise<number> {
  let text = ''
  socket.setEncoding('utf8')
  socket.on('data', (chunk: string) => (text += chunk))
  socket.resume()
  await new Promise((resolve) => socket.once('close', resolve))
  const body = text.slice(text.indexOf('\r\n\r\n') + 4)
  return Number(parseSse(body.split('\n\n').at(-2)!).id)
}
