import { AskbackError } from '@askback/protocol'
import { parseWith } from '@askback/core'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Credential } from './credentials/credential.js'
import { actorOf, authenticate, checkGood } from './http/authenticate.js'
import type { ParsedBody } from './http/body.js'
import { idempotencyKey } from './http/idempotent.js'
import { sendAnswer, sendError, toAskbackError } from './http/responses.js'
import { withOpenApi } from './openapi.js'
import type { GatewayContext, AnyCall, Route } from './route.js'
import { auditRoutes } from './routes/audit.js'
import { connectorRoutes } from './routes/connectors.js'
import { interactionRoutes } from './routes/interactions.js'
import { loginRoutes } from './routes/login.js'
import { mcpRoutes, type McpHandler } from './routes/mcp.js'
import { messageRoutes } from './routes/messages.js'
import { backupRoutes, healthRoutes, metricsRoutes } from './routes/operations.js'
import { ruleRoutes } from './routes/rules.js'
import { adoptRoutes, sessionRoutes } from './routes/sessions.js'
import { tokenRoutes } from './routes/tokens.js'
import { toolCallRoutes } from './routes/tool-calls.js'
import { streamRoutes } from './streams/register.js'

type Params = Record<string, string>

/** Makes the framework's routes from the table. */
export function registerRoutes(app: FastifyInstance, routes: Route[], context: GatewayContext): void {
  app.decorateRequest('credential', null)
  for (const route of routes) {
    const { handle } = route
    if (!handle) continue
    app.route({
      method: route.method,
      url: route.path,
      config: {
        lines: route.lines ?? false,
        ...(route.bodyBytes !== undefined && { bodyBytes: route.bodyBytes }),
      },
      onRequest: guard(route, context),
      handler(request, reply) {
        run({ route, handle, context }, request, reply).then(undefined, (error: unknown) =>
          fail(request, reply, error),
        )
      },
    })
  }
}

/** Answers an error, and logs those that are our own. */
export function fail(request: FastifyRequest, reply: FastifyReply, error: unknown): void {
  const known = toAskbackError(error)
  if (known.code === 'internal' && isCutShort(request)) {
    request.log.debug({ reqId: request.id }, 'A client was gone before its request was complete')
  } else if (known.code === 'internal') {
    request.log.error({ reqId: request.id, err: known.cause ?? known }, 'A request failed')
  }
  sendError(reply, known)
}

function isCutShort({ raw }: FastifyRequest): boolean {
  return raw.destroyed && !raw.complete
}

/** Before the body is read: where it comes from, who sends it, and whether they may. */
function guard(route: Route, context: GatewayContext) {
  const { admit, access, drain, rateLimit, agentRate } = context
  const isWrite = route.method !== 'GET'
  const ofSession = route.path.startsWith('/api/sessions/:id')
  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    let checked: Promise<void> | undefined
    try {
      const sender = admit(request.raw)
      if (route.ownPagesOnly && sender.page === 'allowed') {
        throw new AskbackError('forbidden', 'Only pages of this gateway itself may do this.')
      }
      if (route.who !== 'anyone') {
        const credential = authenticate(sender, context)
        request.credential = credential
        rateLimit?.count(credential.id)
        if (credential.kind === 'agent') agentRate?.count(credential.id)
        const sessionId = ofSession ? (request.params as Params)['id'] : undefined
        checked = access.check(route.who, credential, sessionId)
      }
      if (isWrite) drain.checkWrite()
      route.beforeBody?.(request.params)
    } catch (error) {
      done(error as Error)
      return
    }
    if (checked) void passOn(checked, done)
    else done()
  }
}

async function passOn(checked: Promise<void>, done: (error?: Error) => void): Promise<void> {
  try {
    await checked
  } catch (error) {
    done(error as Error)
    return
  }
  done()
}

async function run(
  { route, handle, context }: { route: Route; handle: NonNullable<Route['handle']>; context: GatewayContext },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  if (request.credential) await checkAgain(context, request.credential, route)
  const answer = await handle(callOf(route, request, reply))
  if (!('handled' in answer)) sendAnswer(reply, answer)
}

/**
 * After the body, which may have taken minutes to come: whoever was revoked or logged out meanwhile must not act. Only
 * what a person changes is checked with a shared store itself, because that costs a query.
 */
function checkAgain(
  { credentials }: GatewayContext,
  credential: Credential,
  { method }: Route,
): Promise<void> | undefined {
  const isGood =
    method !== 'GET' && credential.kind === 'person'
      ? credentials.isStillGood(credential)
      : credentials.isCurrent(credential)
  if (typeof isGood !== 'boolean') return isGood.then(checkGood)
  checkGood(isGood)
  return undefined
}

function callOf(route: Route, request: FastifyRequest, reply: FastifyReply): AnyCall {
  const { query, method, name } = route
  const { credential, headers } = request
  const origin: AnyCall['origin'] = credential ? actorOf(credential, headers) : {}
  if (credential && method !== 'GET') {
    const key = idempotencyKey(headers['idempotency-key'], name, credential.id)
    if (key !== undefined) origin.idempotencyKey = key
  }
  return {
    // The router gives each of them, as text: the schema is for the document.
    params: request.params,
    query: query ? parse(query, request.query, 'the query') : undefined,
    body: bodyOf(route, request),
    credential,
    origin,
    request,
    reply,
  }
}

/** What comes must be well formed even where nothing is asked for. */
function bodyOf({ body: schema, refusal, parsedByDesk }: Route, request: FastifyRequest): unknown {
  const parsed = request.body as ParsedBody | undefined
  if (parsed && !parsed.ok) throw parsed.error
  if (!schema) return undefined
  const value = parsed?.value
  if (refusal !== undefined && !schema.safeParse(value).success)
    throw new AskbackError('invalid_request', refusal)
  if (value === undefined && !schema.safeParse(undefined).success)
    throw new AskbackError('invalid_request', 'This needs a body in JSON.')
  return parsedByDesk && isObject(value) ? value : parse(schema, value, 'the body')
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function parse(schema: NonNullable<Route['body']>, value: unknown, what: string): unknown {
  return parseWith(schema, value, { code: 'invalid_request', what })
}

/** Every route there is: what the framework serves and what the document describes are made from this. */
export function routeTable(
  context: GatewayContext,
  { version, mcp }: { version: string; mcp: McpHandler | undefined },
): Route[] {
  const routes = [
    ...sessionRoutes(context),
    ...adoptRoutes(context),
    ...streamRoutes,
    ...messageRoutes(context),
    ...toolCallRoutes(context),
    ...interactionRoutes(context),
    ...ruleRoutes(context),
    ...auditRoutes(context),
    ...backupRoutes(context),
    ...tokenRoutes(context),
    ...connectorRoutes(context),
    ...metricsRoutes(context),
    ...loginRoutes(context),
    ...healthRoutes(context),
    ...mcpRoutes(context, mcp),
  ]
  return withOpenApi(routes, version)
}
