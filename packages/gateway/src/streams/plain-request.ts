import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Some clients offer to upgrade to HTTP/2 with every request, and expect an ordinary answer where that is declined. Node
 * takes every upgrade for accepted once anybody listens for one, so the request is put back without its offer.
 */
export function answerAsPlain(server: Server, request: IncomingMessage, socket: Socket, head: Buffer): void {
  const { method, url, httpVersion, rawHeaders } = request
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!
    if (!OFFER.has(name.toLowerCase())) lines.push(`${name}: ${rawHeaders[index + 1]}`)
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]))
  // Over TLS the handshake is done: a connection would begin with another.
  server.emit('encrypted' in socket ? 'secureConnection' : 'connection', socket)
}

const OFFER = new Set(['connection', 'upgrade', 'http2-settings'])
