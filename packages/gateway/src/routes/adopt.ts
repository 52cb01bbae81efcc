import { adopt, newId } from '@askback/core'
import { adoptBody, AskbackError, session } from '@askback/protocol'
import { z } from 'zod'
import type { GatewayContext } from '../context.js'
import { route, type Route } from '../route.js'

export function adoptRoutes({ host, store, clock }: GatewayContext): Route[] {
  return [
    route({
      name: 'adoptSession',
      method: 'POST',
      path: '/api/sessions/adopt',
      who: 'person',
      summary: 'Takes over a session that an agent has run elsewhere; a second time changes nothing',
      body: adoptBody,
      answers: { 201: z.object({ session }), 200: z.object({ session }) },
      errors: [404],
      async handle({ body, origin }) {
        const agents = await host.agents()
        if (!agents.some(({ id }) => id === body.agent))
          throw new AskbackError('invalid_request', `There is no agent ${JSON.stringify(body.agent)} here.`)
        const by = origin.by ?? { id: 'someone' }
        const { sessionId, created } = await adopt(store, body, { by, newId, now: clock.now() })
        const { session: made } = await host.snapshot(sessionId)
        return { status: created ? 201 : 200, body: { session: made } }
      },
    }),
  ]
}
