import { AskbackError, type Actor } from '@askback/protocol'
import type { IncomingHttpHeaders } from 'node:http'
import * as z from 'zod'
import { type GatewayContext, route, type ApiRoute } from '../route.js'
import { okResponse, ok } from './schemas.js'

/**
 * What the gateway needs to know of a connector that runs in the same process.
 *
 * @example
 * createGateway({ host, store, credentials, connectors: [{ id: 'chat', name: 'Chat', pair: (by) => createPairing(by) }] })
 */
export interface GatewayConnector {
  id: string
  name: string
  /** Creates a one-time code that lets this person answer there. Without it nobody can pair. */
  pair?: (by: Actor) => ConnectorPairing | Promise<ConnectorPairing>
  /** Receives a request of its service. Resolves to false if the request does not prove where it comes from. */
  receive?: (headers: IncomingHttpHeaders, body: unknown) => Promise<boolean>
}

/** A one-time code that connects a person with their account on another surface. */
export interface ConnectorPairing {
  code: string
  /** Milliseconds since 1970. */
  expiresAt: number
  /** Opens the chat with the code filled in. */
  link?: string
}

/** More than any message with buttons that chat services send. */
const MAX_UPDATE_BYTES = 256 * 1024
const params = z.object({ id: z.string() })
const pairing = z.object({ code: z.string(), expiresAt: z.number(), link: z.string().optional() })

export function connectorRoutes({ connectors, failedLogins, proxies }: GatewayContext): ApiRoute[] {
  const find = (id: string) => connectors.find((connector) => connector.id === id)
  const receiverOf = (id: string) => {
    const receive = find(id)?.receive
    if (!receive) throw new AskbackError('not_found', 'Nothing is received here.')
    return receive
  }
  return [
    route({
      name: 'listConnectors',
      method: 'GET',
      path: '/api/connectors',
      allowed: 'person',
      action: 'filtered',
      summary: 'Lists the connectors, through which people can answer elsewhere',
      responses: {
        200: z.object({
          connectors: z.array(z.object({ id: z.string(), name: z.string(), pairs: z.boolean() })),
        }),
      },
      async handle({ access }) {
        // Who pairs gets what every session asks, so only who may pair sees where.
        const listed = access && !(await access.mayAdminister()) ? [] : connectors
        return {
          status: 200,
          body: { connectors: listed.map(({ id, name, pair }) => ({ id, name, pairs: Boolean(pair) })) },
        }
      },
    }),
    route({
      name: 'pairConnector',
      method: 'POST',
      path: '/api/connectors/:id/pairings',
      allowed: 'person',
      action: 'administer',
      summary: 'Creates a one-time code that links this person to an account of the connector',
      params,
      responses: { 201: pairing },
      errors: [404],
      async handle({ params: { id }, credential }) {
        const connector = find(id)
        if (!connector?.pair) {
          throw new AskbackError('not_found', `There is no connector ${JSON.stringify(id)} to pair with.`)
        }
        return { status: 201, body: await connector.pair(credential.by) }
      },
    }),
    route({
      name: 'receiveUpdate',
      method: 'POST',
      path: '/api/connectors/:id/updates',
      allowed: 'anyone',
      action: 'public',
      summary: 'Receives webhook calls from the service behind a connector, which sends its secret',
      params,
      body: z.record(z.string(), z.unknown()),
      bodyBytes: MAX_UPDATE_BYTES,
      beforeBody: ({ id }) => void receiverOf(id),
      responses: { 200: ok },
      errors: [401, 404],
      async handle({ params: { id }, body, request }) {
        if (await receiverOf(id)(request.headers, body)) return okResponse
        failedLogins.count(proxies.addressOf(request.raw))
        throw new AskbackError('unauthorized', 'This does not carry the secret of the connector.')
      },
    }),
  ]
}
