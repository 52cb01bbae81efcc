// The same bytes with node:http alone: one response, one frame to many clients, one replay to each.
import { createServer } from 'node:http'
import { serve, withBody } from './bare-server.mjs'

/** @typedef {import('node:http').ServerResponse} Response */

/** Responses of the gateway, to be sent again. */
const recorded = { body: '{}', replay: Buffer.alloc(0) }
/** @type {Set<import('node:net').Socket>} */
const readers = new Set()

/**
 * @param {Response} response
 * @param {string} text
 */
function answer(response, text) {
  response.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
  })
  response.end(text)
}

/** @param {Response} response */
function stream(response) {
  response.removeHeader('transfer-encoding')
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', connection: 'close' })
  response.flushHeaders()
  return response.socket
}

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    if (request.url === '/stream') {
      const socket = stream(response)
      if (!socket) return
      readers.add(socket)
      socket.once('close', () => readers.delete(socket))
    } else if (request.url === '/replay') stream(response)?.write(recorded.replay)
    else answer(response, recorded.body)
    return
  }
  withBody(request, (/** @type {{ text: string }} */ { text }) => {
    if (request.url === '/body') recorded.body = text
    else if (request.url === '/replay') recorded.replay = Buffer.from(text)
    else {
      const frame = Buffer.from(text)
      for (const reader of readers) reader.write(frame)
    }
    answer(response, '{}')
  })
})

serve(server)
