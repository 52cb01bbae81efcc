import type { Interaction } from '@askback/protocol'
import { createServer, request, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { afterEach } from 'vitest'
import { at, type RunningGateway } from '../http/gateways.js'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections()
})

/**
 * Forwards everything, but loses the first response to a request that opens an interaction: runs `meanwhile`, and then closes the
 * connection.
 */
export function losesFirstAnswer(
  gateway: RunningGateway,
  meanwhile: (lost: Interaction) => Promise<void> = () => Promise.resolve(),
): Promise<string> {
  let lost = false
  return proxy(gateway, {
    async keeps({ method, url }, answer) {
      if (lost || method !== 'POST' || !url?.endsWith('/interactions')) return false
      lost = true
      await meanwhile(((await json(answer)) as { interaction: Interaction }).interaction)
      return true
    },
  })
}

/** Forwards everything; a cancel only after the given work is done. */
export function beforeCancel(gateway: RunningGateway, use: () => Promise<unknown>): Promise<string> {
  return proxy(gateway, { before: async ({ method }) => void (method === 'DELETE' && (await use())) })
}

/** A person approves the request, and another process with the same credential claims the approval first. */
export function approvedToAnother(gateway: RunningGateway): (item: Interaction) => Promise<void> {
  return async (item) => {
    await gateway.call('POST', `${at(item)}/response`, { body: { answer: { decision: 'approve' } } })
    await gateway.call('GET', at(item), { as: gateway.ready.agentToken })
  }
}

interface Interference {
  before?: (incoming: IncomingMessage) => Promise<void>
  /** Whether the connection is closed instead of forwarding this response. */
  keeps?: (incoming: IncomingMessage, answer: IncomingMessage) => Promise<boolean>
}

async function proxy(
  { ready }: RunningGateway,
  { before = () => Promise.resolve(), keeps = () => Promise.resolve(false) }: Interference,
): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    const cut = () => void outgoing.destroy()
    const target = new URL(incoming.url ?? '/', ready.url)
    const headers = { ...incoming.headers, host: target.host }
    const pass = () => {
      const onward = request(target, { method: incoming.method, headers }, (answer) => {
        keeps(incoming, answer).then((isKept) => {
          if (isKept) return cut()
          outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
          answer.pipe(outgoing)
        }, cut)
      })
      onward.on('error', cut)
      outgoing.on('close', () => onward.destroy())
      incoming.pipe(onward)
    }
    before(incoming).then(pass, cut)
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
