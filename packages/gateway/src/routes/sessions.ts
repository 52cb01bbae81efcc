import {
  AskbackError,
  createSessionBody,
  interaction,
  liveEvent,
  permissionModeBody,
  session,
  adoptBody,
} from '@askback/protocol'
import { z } from 'zod'
import { type GatewayContext, route, type Route } from '../route.js'
import { accepted, freshness, next, ok, page, sessionParams } from './schemas.js'

const agent = z.object({
  id: z.string(),
  name: z.string(),
  available: z.boolean(),
  reason: z.string().optional(),
  uses: z.string().optional(),
})

const snapshot = z.object({
  session,
  state: z.looseObject({ pending: z.array(interaction) }),
  seq: z.int(),
  now: z.number(),
  logId: z.string(),
  live: z.array(liveEvent),
})

export function sessionRoutes({ host }: GatewayContext): Route[] {
  return [
    route({
      name: 'listAgents',
      method: 'GET',
      path: '/api/agents',
      who: 'person',
      summary: 'The agents that can run here, and what is missing where one cannot',
      answers: { 200: z.object({ agents: z.array(agent) }) },
      handle: async () => ({ status: 200, body: { agents: await host.agents() } }),
    }),
    route({
      name: 'createSession',
      method: 'POST',
      path: '/api/sessions',
      who: 'outside_agent',
      summary: 'Makes a session; with `agent: null` for agents that run elsewhere',
      body: createSessionBody,
      answers: { 201: z.object({ session }), 200: z.object({ session }) },
      errors: [409],
      async handle({ body, credential, origin }) {
        if (credential.kind === 'agent') checkOutsideSession(body)
        const { session: made, created } = await host.createSession({
          ...body,
          ...origin,
          source: 'http',
        })
        return { status: created ? 201 : 200, body: { session: made } }
      },
    }),
    route({
      name: 'listSessions',
      method: 'GET',
      path: '/api/sessions',
      who: 'person',
      summary: 'All sessions, newest first',
      query: page,
      answers: { 200: z.object({ sessions: z.array(session), next }) },
      async handle({ query: { after, limit } }) {
        const { items, next: following } = await host.desk.sessions({
          ...(after !== undefined && { after }),
          ...(limit !== undefined && { limit }),
        })
        return { status: 200, body: { sessions: items, next: following } }
      },
    }),
    route({
      name: 'readSession',
      method: 'GET',
      path: '/api/sessions/:id',
      who: 'agent',
      summary: 'A session as it stands: the fold of its log, and the blocks that are being made',
      params: sessionParams,
      query: freshness,
      answers: { 200: snapshot },
      errors: [404],
      async handle({ params, query: { fresh }, credential }) {
        // An agent may act on what it reads.
        const options = { fresh: fresh ?? credential.kind === 'agent' }
        return { status: 200, body: await host.snapshot(params.id, options) }
      },
    }),
    route({
      name: 'deleteSession',
      method: 'DELETE',
      path: '/api/sessions/:id',
      who: 'person',
      summary: 'Ends a session, cancels what is pending in it, and erases its log',
      params: sessionParams,
      answers: { 202: ok },
      errors: [404, 409],
      async handle({ params, origin }) {
        await host.deleteSession(params.id, origin)
        return accepted
      },
    }),
    ...controlRoutes(host),
  ]
}

function controlRoutes(host: GatewayContext['host']): Route[] {
  return [
    route({
      name: 'interrupt',
      method: 'POST',
      path: '/api/sessions/:id/interrupt',
      who: 'person',
      summary: 'Stops the turn and cancels what is pending',
      params: sessionParams,
      answers: { 202: ok },
      errors: [404, 409],
      async handle({ params, origin }) {
        await host.interrupt(params.id, origin)
        return accepted
      },
    }),
    route({
      name: 'clear',
      method: 'POST',
      path: '/api/sessions/:id/clear',
      who: 'person',
      summary: 'Cancels what is pending and starts a fresh agent context; the log stays',
      params: sessionParams,
      answers: { 202: ok },
      errors: [404, 409],
      async handle({ params, origin }) {
        await host.clear(params.id, origin)
        return accepted
      },
    }),
    route({
      name: 'setPermissionMode',
      method: 'POST',
      path: '/api/sessions/:id/permission-mode',
      who: 'person',
      summary: 'Says what the agent may do without asking',
      params: sessionParams,
      body: permissionModeBody,
      answers: { 202: ok },
      errors: [404, 409],
      async handle({ params, body, origin }) {
        await host.setPermissionMode(params.id, body.mode, origin)
        return accepted
      },
    }),
  ]
}

/** An agent must not give itself more than a person would have to grant. */
function checkOutsideSession({
  agent: named,
  permissionMode: mode = 'default',
}: z.infer<typeof createSessionBody>): void {
  if (named !== null) {
    throw new AskbackError('forbidden', 'An agent may make sessions for outside agents only: `agent: null`.')
  }
  if (mode !== 'default' && mode !== 'plan') {
    throw new AskbackError('forbidden', `Only a person may choose the permission mode ${mode}.`)
  }
}

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
