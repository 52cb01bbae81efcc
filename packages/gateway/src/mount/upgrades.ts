import type { IncomingMessage, Server } from 'node:http'
import { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { declineUpgrade, WS_PATH } from '../streams/ws-server.js'

/** The connection of a request that wants to become a WebSocket. */
export interface PendingUpgrade {
  socket: Socket
  head: Buffer
}

const pending = new WeakMap<IncomingMessage, { upgrade: PendingUpgrade; response: ServerResponse }>()

/**
 * Lets the framework of a server handle upgrades to our WebSockets like requests, so that its middleware runs for them, too, and
 * `authenticate` gets the same request as always. All other upgrades are left to the server's other listeners. Returns how to
 * stop.
 */
export function routeUpgrades(server: Server): () => void {
  const routed = servers.get(server) ?? {
    mounts: 0,
    listen: (...upgrade) => routeUpgrade(server, ...upgrade),
  }
  servers.set(server, routed)
  if (routed.mounts++ === 0) server.on('upgrade', routed.listen)
  let isRouted = true
  return () => {
    if (isRouted && --routed.mounts === 0) server.off('upgrade', routed.listen)
    isRouted = false
  }
}

type UpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void

/** Several mounts on one server share a listener: an upgrade must become one request. */
const servers = new WeakMap<Server, { mounts: number; listen: UpgradeListener }>()

function routeUpgrade(server: Server, request: IncomingMessage, duplex: Duplex, head: Buffer): void {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- node:http always passes the connection itself
  const socket = duplex as Socket
  if (isOurs(request)) emitRequest(server, request, { socket, head })
  // Nobody else would answer it. Without any listener Node.js takes such a request for an ordinary one.
  else if (server.listenerCount('upgrade') === 1) declineUpgrade(server, request, socket, head)
}

/** The connection, if the request is an upgrade that nothing was responded to yet. */
export function takeUpgrade(request: IncomingMessage): PendingUpgrade | null {
  const found = pending.get(request)
  if (!found || found.response.headersSent) return null
  pending.delete(request)
  found.response.detachSocket(found.upgrade.socket)
  return found.upgrade
}

function isOurs({ url = '', headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket' && url.split('?', 1)[0]!.endsWith(WS_PATH)
}

function emitRequest(server: Server, request: IncomingMessage, upgrade: PendingUpgrade): void {
  const { socket } = upgrade
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  // The server does not know this response, so it does not close its connection.
  response.once('finish', () => socket.end(() => socket.destroy()))
  socket.on('error', () => socket.destroy())
  pending.set(request, { upgrade, response })
  server.emit('request', request, response)
}
