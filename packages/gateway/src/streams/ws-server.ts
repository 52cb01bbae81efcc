import { AskbackError, errorCodes } from '@askback/protocol'
import { STATUS_CODES, type IncomingMessage, type Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { bodyOf, retryAfterOf, SECURITY_HEADERS, toAskbackError } from '../http/answers.js'
import type { Clock } from '@askback/core'
import type { Caller, SocketCaller } from './options.js'
import { answerAsPlain } from './plain-request.js'
import { WsHello } from './ws-hello.js'
import { WsConnection, type WsConnectionOptions } from './ws-connection.js'

export const WS_PATH = '/api/ws'

export interface WsServerOptions extends WsConnectionOptions {
  authorizeSocket: (request: IncomingMessage) => Promise<SocketCaller>
  clock: Clock
  helloMs: number
  sockets: number
  frameBytes: number
}

/** Takes the upgrades of an HTTP server; resolves to how many sockets are open. */
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
      const open = (caller: Caller) => streams.add(new WsConnection({ ws, socket, caller }, options))
      if ('caller' in found) open(found.caller)
      else streams.add(new WsHello(ws, { ...options, ...found, open }))
    })
  }

  server.on('upgrade', (request: IncomingMessage, duplex: Duplex, head: Buffer) => {
    // What node:http hands over is always the connection itself.
    const socket = duplex as Socket
    if (request.headers.upgrade?.toLowerCase() !== 'websocket')
      return answerAsPlain(server, request, socket, head)
    const ignore = () => socket.destroy()
    socket.on('error', ignore)
    accept(request, socket, head)
      .catch((error: unknown) => {
        const told = toAskbackError(error)
        if (told.code === 'internal') onError(error)
        refuse(socket, told)
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

function refuse(socket: Socket, error: AskbackError): void {
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
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  socket.destroySoon()
}
