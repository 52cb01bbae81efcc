import { errorCodes, type AskbackError } from '@askback/protocol'
import { request as sendRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import type { Gateway } from '../gateway.js'
import { bodyOf, toAskbackError } from '../http/responses.js'
import { noRoute } from '../http/web-app.js'
import { MemorySocket } from './memory-socket.js'
import { checkPrefix, withoutPrefix } from './mount.js'

/** Answers one request of the Fetch API. */
export type FetchHandler = (request: Request) => Promise<Response>

/** One handler for each method, with the names that Next.js and others look for. */
export interface FetchHandlers {
  GET: FetchHandler
  HEAD: FetchHandler
  POST: FetchHandler
  DELETE: FetchHandler
  OPTIONS: FetchHandler
}

/** The types of Node.js have two for the same stream. */
type ResponseBody = ConstructorParameters<typeof Response>[0]

/** These belong to one connection, and the length is that of the bytes that are sent. */
const NOT_PASSED_ON = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'upgrade'])
const WITHOUT_BODY = new Set([204, 304])

/**
 * Serves requests of the Fetch API by a server of Node.js that has no port: each is sent over a connection in memory, so that
 * streams, backpressure and aborts work as over the network.
 */
export function fetchHandlers(gateway: Promise<Gateway>, path: string): FetchHandlers {
  const prefix = checkPrefix(path)
  const handle: FetchHandler = async (request) => {
    const url = new URL(request.url)
    const target = withoutPrefix(url.pathname + url.search, prefix)
    if (target === null) return errorResponse(noRoute(request.method, url.pathname))
    const mount = { prefix, source: request, upgrades: false }
    const ends = MemorySocket.pair(mount, { isSecure: url.protocol === 'https:' })
    try {
      await (await gateway).connect(ends.server)
    } catch (error) {
      return errorResponse(toAskbackError(error))
    }
    return exchange(request, { target, host: url.host, socket: ends.client })
  }
  return { GET: handle, HEAD: handle, POST: handle, DELETE: handle, OPTIONS: handle }
}

function exchange(
  request: Request,
  { target, host, socket }: { target: string; host: string; socket: MemorySocket },
): Promise<Response> {
  const { method, signal } = request
  return new Promise<Response>((resolve, reject) => {
    const sent = sendRequest({
      method,
      path: target,
      headers: headersOf(request, host),
      createConnection: () => socket,
    })
    const abort = () => socket.destroy()
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort)
    socket.once('close', () => signal.removeEventListener('abort', abort))
    sent.once('error', (error) =>
      reject(signal.aborted ? new DOMException('The request was aborted.', 'AbortError') : error),
    )
    sent.once('response', (response) => resolve(responseOf(response, method)))
    const body = request.body as ReadableStream<Uint8Array> | null
    // Errors of the body end the connection, as over the network.
    if (body) Readable.fromWeb(body).on('error', abort).pipe(sent)
    else sent.end()
  })
}

function headersOf({ headers }: Request, host: string): OutgoingHttpHeaders {
  const sent: OutgoingHttpHeaders = { host, connection: 'close' }
  for (const [name, value] of headers) if (!NOT_PASSED_ON.has(name)) sent[name] = value
  return sent
}

function responseOf(response: IncomingMessage, method: string): Response {
  const { statusCode: status = 500, rawHeaders } = response
  const headers = new Headers()
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!
    if (!NOT_PASSED_ON.has(name.toLowerCase()) || name.toLowerCase() === 'content-length')
      headers.append(name, rawHeaders[index + 1]!)
  }
  if (method === 'HEAD' || WITHOUT_BODY.has(status)) {
    response.resume()
    return new Response(null, { status, headers })
  }
  return new Response(Readable.toWeb(response) as ResponseBody, { status, headers })
}

function errorResponse(error: AskbackError): Response {
  const { status } = errorCodes[error.code]
  return Response.json(bodyOf(error), { status, headers: { 'cache-control': 'no-store' } })
}
