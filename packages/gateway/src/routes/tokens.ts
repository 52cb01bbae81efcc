import * as z from 'zod'
import { personName } from '../credentials/people.js'
import { idempotent, secretSeed } from '../http/idempotent.js'
import { type GatewayContext, route, type ApiRoute } from '../route.js'
import { okResponse, ok } from './schemas.js'

const createdToken = z.object({ person: z.string(), token: z.string() })

/** Each person has their own token, so that `by` in the log names who answered. */
export function tokenRoutes({ credentials, store }: GatewayContext): ApiRoute[] {
  return [
    route({
      name: 'listTokens',
      method: 'GET',
      path: '/api/tokens',
      allowed: 'person',
      action: 'administer',
      summary: 'Lists the people who have tokens; the tokens themselves are not stored',
      responses: {
        200: z.object({ tokens: z.array(z.object({ name: z.string(), createdAt: z.number().nullable() })) }),
      },
      handle: () => ({ status: 200, body: { tokens: credentials.listPeople() } }),
    }),
    route({
      name: 'createToken',
      method: 'POST',
      path: '/api/tokens',
      allowed: 'person',
      action: 'administer',
      summary: 'Creates a token for a person; only this response contains it',
      body: z.object({ person: z.string().max(400) }),
      responses: { 201: createdToken, 200: createdToken },
      errors: [409],
      async handle({ body, host: { desk }, idempotencyKey, request }) {
        const person = personName(body.person)
        const token = credentials.createToken(secretSeed(request.headers, idempotencyKey))
        const result = await idempotent(store, idempotencyKey, { person }, async () => {
          await credentials.addToken(person, token, desk.caller)
        })
        return { status: result === 'repeated' ? 200 : 201, body: { person, token } }
      },
    }),
    route({
      name: 'revokeToken',
      method: 'DELETE',
      path: '/api/tokens/:name',
      allowed: 'person',
      action: 'administer',
      summary: "Revokes a person's tokens and logins",
      params: z.object({ name: z.string() }),
      responses: { 200: ok },
      errors: [404, 409],
      async handle({ params, host: { desk }, idempotencyKey }) {
        const revoke = () => credentials.revoke(params.name, desk.caller)
        await idempotent(store, idempotencyKey, params, revoke)
        return okResponse
      },
    }),
  ]
}
