import { z } from 'zod'
import { personName } from '../credentials/people.js'
import { seedOf } from '../http/authenticate.js'
import { once } from '../http/idempotent.js'
import { type GatewayContext, route, type Route } from '../route.js'
import { done, ok } from './schemas.js'

const made = z.object({ person: z.string(), token: z.string() })

/** Each person has a token of their own, so that `by` means something. */
export function tokenRoutes({ credentials, store }: GatewayContext): Route[] {
  return [
    route({
      name: 'listTokens',
      method: 'GET',
      path: '/api/tokens',
      who: 'person',
      summary: 'Whose tokens there are; the tokens themselves are not kept',
      answers: {
        200: z.object({ tokens: z.array(z.object({ name: z.string(), createdAt: z.number().nullable() })) }),
      },
      handle: () => ({ status: 200, body: { tokens: credentials.people() } }),
    }),
    route({
      name: 'createToken',
      method: 'POST',
      path: '/api/tokens',
      who: 'person',
      summary: 'Makes a token for a person, and shows it this once',
      body: z.object({ person: z.string().max(400) }),
      answers: { 201: made, 200: made },
      errors: [409],
      async handle({ body, origin, request }) {
        const { idempotencyKey } = origin
        const person = personName(body.person)
        const token = credentials.newToken(seedOf(request.headers, idempotencyKey))
        const how = await once(store, idempotencyKey, { person }, async () => {
          await credentials.keep(person, token, origin)
        })
        return { status: how === 'seen' ? 200 : 201, body: { person, token } }
      },
    }),
    route({
      name: 'revokeToken',
      method: 'DELETE',
      path: '/api/tokens/:name',
      who: 'person',
      summary: "Revokes a person's tokens and logins",
      params: z.object({ name: z.string() }),
      answers: { 200: ok },
      errors: [404, 409],
      async handle({ params, origin }) {
        await once(store, origin.idempotencyKey, params, () => credentials.revoke(params.name, origin))
        return done
      },
    }),
  ]
}
