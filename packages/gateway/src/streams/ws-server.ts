import { AskbackError, errorCodes } from '@askback/protocol'
import type { Clock } from '@askback/core'
import { STATUS_CODES, type IncomingMessage, type Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { WebSocketServer, type RawData, type WebSocket } from 'ws'
import { bodyOf, retryAfterOf, SECURITY_HEADERS, toAskbackError } from '../http/responses.js'
import type { OpenStream, OpenStreams } from './open-streams.js'
import type { StreamCaller, SocketCaller } from './register.js'
import { SERVICE_RESTART, WsConnection, type WsConnectionOptions } from './ws-connection.js'
import { parseOp } from './ws-messages.js'

export const WS_PATH = '/api/ws'

export interface WsServerOptions extends WsConnectionOptions {
  authorizeSocket: (request: IncomingMessage) => Promise<SocketCaller>
  clock: Clock
  helloMs: number
  sockets: number
  frameBytes: number
}

/** Accepts the WebSocket upgrades of an HTTP server. `open` is the number of open sockets. */
export function serveWebSockets(server: Server, options: WsServerOptions): { readonly open: number } {
  const { authorizeSocket, streams, sockets, frameBytes, onError } = options
  const upgrades = new WebSocketServer({
    noServer: true,
    clientTracking: true,
    perMessageDeflate: false,
    maxPayload: frameBytes,
  })

  async function accept(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const found = await authorizeSocket(request)
    if (pathOf(request) !== WS_PATH)
      throw new AskbackError('not_found', `A WebSocket is served at ${WS_PATH} only.`)
    if (streams.draining) throw new AskbackError('unavailable', 'The gateway is going away.')
    if (upgrades.clients.size >= sockets)
      throw new AskbackError('rate_limited', `There are ${sockets} sockets open, which is the limit.`)
    upgrades.handleUpgrade(request, socket, head, (ws) => {
      const open = (caller: StreamCaller) => streams.add(new WsConnection({ ws, socket, caller }, options))
      if ('caller' in found) open(found.caller)
      else streams.add(new WsHello(ws, { ...options, ...found, open }))
    })
  }

  server.on('upgrade', (request: IncomingMessage, duplex: Duplex, head: Buffer) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- node:http always passes the connection itself
    const socket = duplex as Socket
    if (request.headers.upgrade?.toLowerCase() !== 'websocket')
      return declineUpgrade(server, request, socket, head)
    const ignore = () => socket.destroy()
    socket.on('error', ignore)
    accept(request, socket, head)
      .catch((error: unknown) => {
        const known = toAskbackError(error)
        if (known.code === 'internal') onError(error)
        refuseUpgrade(socket, known)
      })
      .finally(() => socket.off('error', ignore))
  })

  return {
    get open() {
      return upgrades.clients.size
    },
  }
}

function pathOf(request: IncomingMessage): string {
  return request.url?.split('?', 1)[0] ?? ''
}

/** Responds to an upgrade that is refused, and closes the connection. */
export function refuseUpgrade(socket: Duplex, error: AskbackError): void {
  const { status } = errorCodes[error.code]
  const retryAfter = retryAfterOf(error)
  const body = JSON.stringify(bodyOf(error))
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...Object.entries(SECURITY_HEADERS).map(([name, value]) => `${name}: ${value}`),
    ...(retryAfter === null ? [] : [`Retry-After: ${retryAfter}`]),
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy())
}

/** Close code in the range for applications, after the HTTP status 401. */
const UNAUTHORIZED = 4401

export interface WsHelloOptions {
  key: string
  /** Throws if the proof does not belong to the cookie. */
  confirm: (proof: string) => StreamCaller
  /** Serves the socket from then on. */
  open: (caller: StreamCaller) => void
  streams: OpenStreams
  jsonDepth: number
  clock: Clock
  helloMs: number
}

/**
 * A socket whose request had a cookie, which other ports of this host may have seen. It is served after its first message has the proof,
 * `{ op: 'hello', proof }`. Any other first message, or none within `helloMs`, closes it.
 */
class WsHello implements OpenStream {
  readonly key: string
  readonly #ws: WebSocket
  readonly #options: WsHelloOptions
  readonly #cancelTimeout: () => void
  readonly #onMessage = (data: RawData, isBinary: boolean) => this.#receive(data, isBinary)
  readonly #onError = () => this.disconnect()
  readonly #onClose = () => this.#release()

  constructor(ws: WebSocket, options: WsHelloOptions) {
    const { key, clock, helloMs } = options
    this.key = key
    this.#ws = ws
    this.#options = options
    this.#cancelTimeout = clock.alarm(clock.now() + helloMs, () => this.#refuse())
    ws.on('message', this.#onMessage).on('error', this.#onError).on('close', this.#onClose)
  }

  /** Nothing to do: it ends after `helloMs` anyway. */
  heartbeat(): void {}

  drain(): void {
    this.#ws.close(SERVICE_RESTART, 'The gateway restarts.')
  }

  disconnect(): void {
    this.#ws.terminate()
  }

  #receive(data: RawData, isBinary: boolean): void {
    // More frames may arrive after a refused one.
    if (this.#ws.readyState !== this.#ws.OPEN) return
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a socket of ws passes a Buffer, unless its `binaryType` is changed
    const op = isBinary ? null : parseOp((data as Buffer).toString(), this.#options.jsonDepth)
    if (!op || 'error' in op || op.op !== 'hello') return this.#refuse()
    let caller: StreamCaller
    try {
      caller = this.#options.confirm(op.proof ?? '')
    } catch (error) {
      this.#ws.send(JSON.stringify({ ref: op.ref, ok: false, ...bodyOf(toAskbackError(error)) }))
      return this.#refuse()
    }
    this.#release()
    this.#options.open(caller)
    this.#ws.send(JSON.stringify({ ref: op.ref, ok: true }))
  }

  #refuse(): void {
    this.#ws.close(UNAUTHORIZED, 'Say hello with the proof of this login first.')
  }

  /** The socket was closed, or is served by `WsConnection` from now on. */
  #release(): void {
    this.#cancelTimeout()
    this.#ws.off('message', this.#onMessage).off('error', this.#onError).off('close', this.#onClose)
    this.#options.streams.remove(this)
  }
}

/**
 * Some clients offer to upgrade to HTTP/2 with every request, and expect an ordinary response if the server declines. Node treats every
 * upgrade as accepted once there is a listener for upgrades, so the request is put back into the socket without the offer.
 */
export function declineUpgrade(server: Server, request: IncomingMessage, socket: Socket, head: Buffer): void {
  const { method, url, httpVersion, rawHeaders } = request
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!
    if (!UPGRADE_HEADERS.has(name.toLowerCase())) lines.push(`${name}: ${rawHeaders[index + 1]}`)
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]))
  // With TLS the handshake is done; a `connection` event would start another.
  server.emit('encrypted' in socket ? 'secureConnection' : 'connection', socket)
}

const UPGRADE_HEADERS = new Set(['connection', 'upgrade', 'http2-settings'])
