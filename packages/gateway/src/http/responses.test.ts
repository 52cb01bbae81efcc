import { expect, it } from 'vitest'
import { PassThrough } from 'node:stream'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { batchWrite, respondToBrokenRequest } from './responses.js'

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

it('writes the first at once, and the others in order at the end of the turn', async () => {
  const written: string[] = []
  for (const turn of ['a', 'b']) {
    for (const write of [1, 2, 3]) batchWrite(() => written.push(`${turn}${write}`))
    expect(written.at(-1)).toBe(`${turn}1`)
    await Promise.resolve()
    expect(written.at(-1)).toBe(`${turn}1`)
    await nextTurn()
    expect(written.slice(-3)).toEqual([`${turn}1`, `${turn}2`, `${turn}3`])
  }
  expect(written).toHaveLength(6)
})

it('a write at the end of a turn is not deferred again', async () => {
  const written: number[] = []
  batchWrite(() => written.push(1))
  batchWrite(() => batchWrite(() => written.push(2)))
  await nextTurn()
  expect(written).toEqual([1, 2])
})

it.each([
  ['HPE_INVALID_METHOD', '400 Bad Request', 'This is not a valid HTTP request.'],
  ['HPE_HEADER_OVERFLOW', '400 Bad Request', 'The headers are too long.'],
  [
    'ERR_HTTP_REQUEST_TIMEOUT',
    '408 Request Timeout',
    'The request did not come in time. Connect again to send it.',
  ],
])('the parser error %s gets the response %s', async (code, status, message) => {
  const socket = new PassThrough()
  respondToBrokenRequest(Object.assign(new Error(), { code }), socket as unknown as Socket)
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n')
  expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status}\r\nConnection: close\r\n`))
  expect(JSON.parse(body)).toEqual({ error: { code: 'invalid_request', message } })
})

it('a client that has disconnected gets no response', () => {
  const socket = new PassThrough()
  respondToBrokenRequest(Object.assign(new Error(), { code: 'ECONNRESET' }), socket as unknown as Socket)
  expect(socket.destroyed).toBe(true)
  expect(socket.readableLength).toBe(0)
})
