import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { connect } from 'node:net'
import { getJson } from './sse-client.test.helper.js'
import { sessionWith, streamServer } from './stream-server.test.helper.js'
import { wsClient } from './ws-client.test.helper.js'

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

describe('malformed messages', () => {
  it.each([
    ['no JSON', '{', null],
    ['no object', '7', null],
    ['an unknown op', '{"op":"delete","ref":1}', 1],
    ['no session', '{"op":"subscribe","ref":"a","after":0}', 'a'],
    ['a cursor that is no whole number', '{"op":"subscribe","ref":"a","sessionId":"s","after":1.5}', 'a'],
    ['a cursor below zero', '{"op":"subscribe","ref":"a","sessionId":"s","after":-1}', 'a'],
    ['a ref that is neither text nor number', '{"op":"unsubscribe","ref":{},"sessionId":"s"}', null],
    ['no ref', '{"op":"unsubscribe","sessionId":"s"}', null],
    ['a ref that JSON would change', '{"op":"ping","ref":9007199254740993}', null],
    ['a ref with a surrogate alone', String.raw`{"op":"ping","ref":"\ud800"}`, null],
    ['an integer that JSON would change', '{"op":"ping","ref":1,"more":9007199254740993}', 1],
    ['a surrogate alone', String.raw`{"op":"ping","ref":1,"more":"\ud800"}`, 1],
    ['__proto__', '{"op":"ping","ref":1,"__proto__":{"admin":true}}', 1],
    ['too many levels', `{"op":"ping","ref":1,"more":${nested(100)}}`, 1],
  ])('are refused with their ref: %s', async (_name, text, ref) => {
    const server = await streamServer()
    const client = await wsClient(server.port)
    client.ws.send(text)
    expect(await client.answer(ref)).toMatchObject({ ref, ok: false, error: { code: 'invalid_request' } })
    // The socket stays open.
    expect(await client.ask({ op: 'unsubscribe', sessionId: 's' })).toMatchObject({ ok: true })
  })

  it('are refused if they are binary', async () => {
    const server = await streamServer()
    const client = await wsClient(server.port)
    client.ws.send(Buffer.from('{"op":"unsubscribe","ref":1,"sessionId":"s"}'))
    expect(await client.answer(null)).toMatchObject({ ok: false, error: { code: 'invalid_request' } })
  })

  it('settle nothing if they are nested more deeply than a body may be', async () => {
    const server = await streamServer({ config: { jsonDepth: 10 } })
    const id = await sessionWith(server, 0)
    const { interaction } = await server.host.desk.open({
      sessionId: id,
      kind: 'approval',
      toolName: 'Bash',
      request: { input: {} },
    })
    const { interactionId } = interaction
    const client = await wsClient(server.port)
    const respond = (ref: number, levels: number) => {
      const answer = `{"decision":"approve","updatedInput":${nested(levels)}}`
      client.ws.send(
        `{"op":"respond","ref":${ref},"sessionId":"${id}","interactionId":"${interactionId}","answer":${answer}}`,
      )
      return client.answer(ref)
    }
    const refused = { ok: false, error: { code: 'invalid_request' } }
    expect(await respond(1, 5000)).toMatchObject(refused)
    expect(await respond(2, 9)).toMatchObject(refused)
    expect(await respond(3, 8)).toMatchObject({ ok: true })
  })

  it('end the connection if they are too large', async () => {
    const server = await streamServer({ config: { frameBytes: 1000 } })
    const client = await wsClient(server.port)
    client.ws.send('x'.repeat(1001))
    expect(await client.closed).toBe(1009)
  })
})

describe('an upgrade', () => {
  it('is refused without a valid credential', async () => {
    const server = await streamServer()
    await expect(wsClient(server.port, { 'x-caller': 'nobody' })).rejects.toThrow('401')
    await expect(wsClient(server.port, { origin: 'http://evil.example' })).rejects.toThrow('403')
  })

  it('is refused above the limit, until a socket is closed', async () => {
    const server = await streamServer({ config: { sockets: 2 } })
    const [first] = [await wsClient(server.port), await wsClient(server.port)]
    await expect(wsClient(server.port)).rejects.toThrow('429')
    first.ws.close()
    await first.closed
    await expect.poll(() => server.streams.open.ws).toBe(1)
    await wsClient(server.port)
    expect(server.streams.open.ws).toBe(2)
  })

  it('is required at this path', async () => {
    const server = await streamServer()
    expect(await getJson(server.port, '/api/ws')).toMatchObject({ status: 400 })
  })
})

describe('a WebSocket', () => {
  it('is pinged, and stays open while it replies', async () => {
    const server = await streamServer()
    const client = await wsClient(server.port)
    for (let beat = 0; beat < 3; beat++) {
      server.clock.advance(15_000)
      await once(client.ws, 'ping')
      // The pong has arrived before the reply to this message.
      await client.ask({ op: 'unsubscribe', sessionId: 's' })
    }
    expect(server.streams.open.ws).toBe(1)
  })

  it('is disconnected when it does not', async () => {
    const server = await streamServer()
    const client = await wsClient(server.port, {}, { autoPong: false })
    server.clock.advance(15_000)
    await once(client.ws, 'ping')
    server.clock.advance(15_000)
    expect(await client.closed).toBe(1006)
    await expect.poll(() => server.streams.open.ws).toBe(0)
  })
})

const OFFER = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n'

it('a request that offers HTTP/2 gets an ordinary response', async () => {
  const server = await streamServer()
  const text = await exchange(server.port, [
    `GET /api/sessions/none/events?after=x HTTP/1.1\r\nHost: localhost\r\n${OFFER}\r\n`,
    'GET /api/sessions/none/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
  ])
  expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400', 'HTTP/1.1 404'])
})

it('the body of a request that offers HTTP/2 is read', async () => {
  const server = await streamServer()
  const head = `POST /nowhere HTTP/1.1\r\nHost: localhost\r\n${OFFER}Content-Type: application/json\r\n`
  const text = await exchange(server.port, [
    `${head}Content-Length: 9\r\n\r\n{"a":`,
    '"b"}GET /api/ws HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
  ])
  expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 404', 'HTTP/1.1 400'])
})

async function exchange(port: number, parts: string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  for (const part of parts) await new Promise((resolve) => socket.write(part, resolve))
  socket.setEncoding('utf8')
  let text = ''
  for await (const chunk of socket) text += chunk
  return text
}
