import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** A server such as an agent may start on another port of the same host. */
export async function otherPort(): Promise<{ url: string; cookie: () => string }> {
  let cookie = ''
  const server = createServer((request: IncomingMessage, response) => {
    cookie = request.headers.cookie ?? cookie
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>Preview</title>')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, cookie: () => cookie }
}
