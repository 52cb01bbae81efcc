import { adoptBody, AskbackError, session } from '@askback/protocol'
import { z } from 'zod'
import type { GatewayContext } from '../context.js'
import { route, type Route } from '../route.js'

const adopted = z.object({ session, created: z.boolean() })

export function adoptRoutes({ host }: GatewayContext): Route[] {
  return [
    route({
      name: 'adoptSession',
      method: 'POST',
      path: '/api/sessions/adopt',
      who: 'person',
      summary: 'Takes over a session that an agent has run elsewhere; a second time changes nothing',
      body: adoptBody,
      lines: true,
      answers: { 201: adopted, 200: adopted },
      errors: [404],
      async handle({ body, origin }) {
        const agents = await host.agents()
        if (!agents.some(({ id }) => id === body.agent))
          throw new AskbackError('invalid_request', `There is no agent ${JSON.stringify(body.agent)} here.`)
        const made = await host.desk.adopt(body, origin.by ?? { id: 'someone' })
        return { status: made.created ? 201 : 200, body: made }
      },
    }),
  ]
}
