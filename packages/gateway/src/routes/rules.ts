import { actor } from '@askback/protocol'
import * as z from 'zod'
import { type GatewayContext, route, type ApiRoute } from '../route.js'
import { okResponse, ok } from './schemas.js'

const rule = z.looseObject({
  id: z.string(),
  scope: z.enum(['session', 'always']),
  toolName: z.string(),
  sessionId: z.string().optional(),
  cwd: z.string().optional(),
  agent: z.string().nullable().optional(),
  by: actor.optional(),
  at: z.number(),
})

export function ruleRoutes({ host: { desk } }: GatewayContext): ApiRoute[] {
  return [
    route({
      name: 'listRules',
      method: 'GET',
      path: '/api/rules',
      allowed: 'person',
      summary: 'Lists the approval rules, for a session or for always',
      responses: { 200: z.object({ rules: z.array(rule) }) },
      handle: async () => ({ status: 200, body: { rules: await desk.rules() } }),
    }),
    route({
      name: 'deleteRule',
      method: 'DELETE',
      path: '/api/rules/:id',
      allowed: 'person',
      summary: 'Deletes a rule: the next such call asks again',
      params: z.object({ id: z.string() }),
      responses: { 200: ok },
      errors: [404, 409],
      async handle({ params, host, idempotencyKey }) {
        await host.desk.deleteRule(params.id, { idempotencyKey })
        return okResponse
      },
    }),
  ]
}
