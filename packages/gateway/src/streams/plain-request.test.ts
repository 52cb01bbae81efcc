import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { streamServer } from './stream-server.test.helper.js'

const OFFER = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n'

it('a request that offers HTTP/2 is answered like any other, with its body', async () => {
  const server = await streamServer()
  const text = await exchange(server.port, [
    `GET /api/sessions/none/events?after=x HTTP/1.1\r\nHost: localhost\r\n${OFFER}\r\n`,
    'GET /api/sessions/none/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
  ])
  expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400', 'HTTP/1.1 404'])
})

it('a body that comes behind the offer is read', async () => {
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
