import { AskbackError, type Actor } from '@askback/protocol'
import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import { type GatewayContext, route, type Route } from '../route.js'
import { done, ok } from './schemas.js'

/** A connector that runs beside the gateway, as far as it is reached through it. */
export interface GatewayConnector {
  id: string
  name: string
  /** Makes a one-time code with which this person can answer there. */
  pair?: (by: Actor) => Pairing | Promise<Pairing>
  /** Takes what its service sends. False if that does not show where it comes from. */
  receive?: (headers: IncomingHttpHeaders, body: unknown) => Promise<boolean>
}

export interface Pairing {
  code: string
  expiresAt: number
  /** What opens the chat with the code in it. */
  link?: string
}

/** More than a message with its buttons, as chat services send them. */
const UPDATE_BYTES = 256 * 1024
const params = z.object({ id: z.string() })
const pairing = z.object({ code: z.string(), expiresAt: z.number(), link: z.string().optional() })

export function connectorRoutes({ connectors, failedLogins, proxies }: GatewayContext): Route[] {
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
      who: 'person',
      summary: 'Where else people can answer',
      answers: {
        200: z.object({
          connectors: z.array(z.object({ id: z.string(), name: z.string(), pairs: z.boolean() })),
        }),
      },
      handle: () => ({
        status: 200,
        body: { connectors: connectors.map(({ id, name, pair }) => ({ id, name, pairs: Boolean(pair) })) },
      }),
    }),
    route({
      name: 'pairConnector',
      method: 'POST',
      path: '/api/connectors/:id/pairings',
      who: 'person',
      summary: 'Makes a one-time code with which this person can answer there',
      params,
      answers: { 201: pairing },
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
      who: 'anyone',
      summary: 'Takes what the service behind a connector sends, with its secret',
      params,
      body: z.record(z.string(), z.unknown()),
      bodyBytes: UPDATE_BYTES,
      beforeBody: ({ id }) => void receiverOf(id),
      answers: { 200: ok },
      errors: [401, 404],
      async handle({ params: { id }, body, request }) {
        if (await receiverOf(id)(request.headers, body)) return done
        failedLogins.note(proxies.addressOf(request.raw))
        throw new AskbackError('unauthorized', 'This does not carry the secret of the connector.')
      },
    }),
  ]
}
