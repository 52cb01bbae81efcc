import {
  AskbackError,
  createSessionBody,
  interaction,
  liveEvent,
  permissionModeBody,
  sessionTagsBody,
  session,
  adoptBody,
} from '@askback/protocol'
import * as z from 'zod'
import { newTags } from '../access/authorizer.js'
import { readablePage, withTags } from '../access/call-access.js'
import { checkFolder, expandHome } from '../folders.js'
import { type GatewayContext, route, type ApiRoute } from '../route.js'
import { acceptedResponse, agent, freshness, next, ok, page, sessionParams } from './schemas.js'

const snapshot = z.object({
  session,
  state: z.looseObject({ pending: z.array(interaction) }),
  seq: z.int(),
  now: z.number(),
  logId: z.string(),
  live: z.array(liveEvent),
})

const createdSession = z.object({ session })

export function sessionRoutes({ host, folders }: GatewayContext): ApiRoute[] {
  return [
    route({
      name: 'listAgents',
      method: 'GET',
      path: '/api/agents',
      allowed: 'person',
      action: 'harmless',
      summary: 'Lists the agents that this gateway can run, and says what is missing for the others',
      responses: { 200: z.object({ agents: z.array(agent) }) },
      handle: async () => ({ status: 200, body: { agents: await host.agents() } }),
    }),
    route({
      name: 'createSession',
      method: 'POST',
      path: '/api/sessions',
      allowed: 'outside_agent',
      action: 'checked',
      summary: 'Creates a session; with `agent: null` for agents that run elsewhere',
      body: createSessionBody,
      responses: { 201: createdSession, 200: createdSession },
      errors: [409],
      async handle({ body, credential, access, host: bound, idempotencyKey }) {
        if (credential.kind === 'agent') checkOutsideSession(body)
        // The folder of an outside agent may be on another machine.
        const cwd = folders && body.agent !== null && body.cwd ? expandHome(body.cwd) : null
        const wanted = withTags({ ...body, ...(cwd !== null && { cwd }) }, credential)
        await access?.checkCreate(wanted)
        if (cwd !== null) await checkFolder(cwd)
        const input = { ...wanted, idempotencyKey, source: 'http' }
        const { session: made, created } = await bound.createSession(input)
        // A repeated request returns the session as it is now, which may be somebody else's.
        if (!created) await access?.check(made.id, 'read')
        return { status: created ? 201 : 200, body: { session: made } }
      },
    }),
    route({
      name: 'listSessions',
      method: 'GET',
      path: '/api/sessions',
      allowed: 'person',
      action: 'filtered',
      summary: 'Lists all sessions, newest first',
      query: page,
      responses: { 200: z.object({ sessions: z.array(session), next }) },
      async handle({ query: { after, limit = 100 }, access }) {
        const read = (query: { after?: string; limit: number }) => host.desk.sessions(query)
        const { items, next: following } = access
          ? await readablePage({ after, limit }, read, (rows) => access.readableSessions(rows))
          : await read({ ...(after !== undefined && { after }), limit })
        return { status: 200, body: { sessions: items, next: following } }
      },
    }),
    route({
      name: 'readSession',
      method: 'GET',
      path: '/api/sessions/:id',
      allowed: 'agent',
      action: 'read',
      summary: 'Returns the current state of a session, folded from its log, and its unfinished blocks',
      params: sessionParams,
      query: freshness,
      responses: { 200: snapshot },
      errors: [404],
      async handle({ params, query: { fresh }, credential }) {
        // An agent acts on what it reads, so by default it gets events of other gateways, too.
        const options = { fresh: fresh ?? credential.kind === 'agent' }
        return { status: 200, body: await host.snapshot(params.id, options) }
      },
    }),
    route({
      name: 'deleteSession',
      method: 'DELETE',
      path: '/api/sessions/:id',
      allowed: 'person',
      action: 'delete',
      summary: 'Ends a session, cancels its pending interactions, and erases its log',
      params: sessionParams,
      responses: { 202: ok },
      errors: [404, 409],
      async handle({ params, host: bound, idempotencyKey }) {
        await bound.deleteSession(params.id, { idempotencyKey })
        return acceptedResponse
      },
    }),
    ...controlRoutes(),
  ]
}

function controlRoutes(): ApiRoute[] {
  return [
    route({
      name: 'interrupt',
      method: 'POST',
      path: '/api/sessions/:id/interrupt',
      allowed: 'person',
      action: 'manage',
      summary: 'Interrupts the turn and cancels the pending interactions',
      params: sessionParams,
      responses: { 202: ok },
      errors: [404, 409],
      async handle({ params, host, idempotencyKey }) {
        await host.interrupt(params.id, { idempotencyKey })
        return acceptedResponse
      },
    }),
    route({
      name: 'clear',
      method: 'POST',
      path: '/api/sessions/:id/clear',
      allowed: 'person',
      action: 'manage',
      summary: 'Cancels the pending interactions and starts a fresh agent context; the log stays',
      params: sessionParams,
      responses: { 202: ok },
      errors: [404, 409],
      async handle({ params, host, idempotencyKey }) {
        await host.clear(params.id, { idempotencyKey })
        return acceptedResponse
      },
    }),
    route({
      name: 'setPermissionMode',
      method: 'POST',
      path: '/api/sessions/:id/permission-mode',
      allowed: 'person',
      action: 'manage',
      summary: 'Sets the permission mode: what the agent may do without asking',
      params: sessionParams,
      body: permissionModeBody,
      responses: { 202: ok },
      errors: [404, 409],
      async handle({ params, body, host, idempotencyKey }) {
        await host.setPermissionMode(params.id, body.mode, { idempotencyKey })
        return acceptedResponse
      },
    }),
    route({
      name: 'setTags',
      method: 'POST',
      path: '/api/sessions/:id/tags',
      allowed: 'person',
      action: 'manage',
      summary: 'Replaces the tags of a session',
      params: sessionParams,
      body: sessionTagsBody,
      responses: { 202: ok },
      errors: [404, 409],
      async handle({ params, body, access, host, idempotencyKey }) {
        await access?.checkNewTags(params.id, body.tags)
        await host.desk.setTags(params.id, body.tags, { idempotencyKey })
        return acceptedResponse
      },
    }),
  ]
}

/** An agent must not grant itself permissions that need a person. */
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

export function adoptRoutes({ host }: GatewayContext): ApiRoute[] {
  return [
    route({
      name: 'adoptSession',
      method: 'POST',
      path: '/api/sessions/adopt',
      allowed: 'person',
      action: 'checked',
      summary: 'Adopts a session that an agent has run elsewhere; adopting it again changes nothing',
      body: adoptBody,
      lines: true,
      responses: { 201: adopted, 200: adopted },
      errors: [404],
      async handle({ body, credential, access, host: { desk } }) {
        const tags = newTags(credential, undefined)
        await access?.checkCreate({ agent: body.agent, ...(tags && { tags }) })
        // What its scripts asked in that session is copied to the new one.
        if (body.from !== undefined) await access?.check(body.from, 'read')
        const agents = await host.agents()
        if (!agents.some(({ id }) => id === body.agent))
          throw new AskbackError('invalid_request', `There is no agent ${JSON.stringify(body.agent)} here.`)
        // Before anything is written: it may be somebody else's, with a history that is not complete yet.
        const known = access && (await desk.findAdopted(body))
        if (known && !(await access.mayRead(known)))
          throw new AskbackError('not_found', 'There is no such session of that agent for you.')
        const mayRead = access ? (id: string) => access.mayRead(id) : undefined
        const adoption = await desk.adopt(body, { tags, mayRead })
        return { status: adoption.created ? 201 : 200, body: adoption }
      },
    }),
  ]
}
