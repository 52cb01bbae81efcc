import { AskbackError, isRecord } from '@askback/protocol'
import { parseWith } from '@askback/core/internal'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { accessOf, type CallAccess } from './access/call-access.js'
import { aguiRoutes } from './agui/route.js'
import type { Credential } from './credentials/credential.js'
import { authenticate, checkNotRevoked } from './http/authenticate.js'
import type { ParsedBody } from './http/body.js'
import { idempotencyKey } from './http/idempotent.js'
import { sendResponse, sendError, toAskbackError } from './http/responses.js'
import { withOpenApi } from './openapi/document.js'
import type { ApiTag } from './openapi/tags.js'
import type { GatewayContext, AnyRouteCall, ApiRoute } from './route.js'
import { auditRoutes } from './routes/audit.js'
import { connectorRoutes } from './routes/connectors.js'
import { folderRoutes } from './routes/folders.js'
import { interactionRoutes } from './routes/interactions.js'
import { loginRoutes } from './routes/login.js'
import { mcpRoutes, type McpHandler } from './routes/mcp.js'
import { messageRoutes, toolCallAnswerRoutes } from './routes/messages.js'
import { backupRoutes, healthRoutes, metricsRoutes } from './routes/operations.js'
import { rendererRoutes } from './routes/renderers.js'
import { ruleRoutes } from './routes/rules.js'
import { adoptRoutes, sessionRoutes } from './routes/sessions.js'
import { tokenRoutes } from './routes/tokens.js'
import { toolCallRoutes } from './routes/tool-calls.js'
import { streamRoutes } from './streams/register.js'

/** Registers every route of the table that has a handler. */
export function registerRoutes(app: FastifyInstance, routes: ApiRoute[], context: GatewayContext): void {
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
      onRequest: checkBeforeBody(route, context),
      handler(request, reply) {
        handleRequest({ route, handle, context }, request, reply).then(undefined, (error: unknown) =>
          sendFailure(request, reply, error),
        )
      },
    })
  }
}

/** Responds with an error. Internal errors are logged, unless the client disconnected while it sent the request. */
export function sendFailure(request: FastifyRequest, reply: FastifyReply, error: unknown): void {
  const known = toAskbackError(error)
  if (known.code === 'internal' && isAborted(request)) {
    request.log.debug({ reqId: request.id }, 'A client was gone before its request was complete')
  } else if (known.code === 'internal') {
    request.log.error({ reqId: request.id, err: known.cause ?? known }, 'A request failed')
  }
  sendError(reply, known)
}

function isAborted({ raw }: FastifyRequest): boolean {
  return raw.destroyed && !raw.complete
}

/** Checks origin, credential and permission before the body is read, so that a refused request costs little. */
function checkBeforeBody(route: ApiRoute, context: GatewayContext) {
  const { admit, access, drain, rateLimit, agentRate } = context
  const isWrite = route.method !== 'GET'
  const isOfSession = route.path.startsWith('/api/sessions/:id')
  const accept = (request: FastifyRequest, credential: Credential): Promise<void> | undefined => {
    request.credential = credential
    rateLimit?.count(credential.id)
    if (credential.kind === 'agent') agentRate?.count(credential.id)
    return access.check(route.allowed, credential, isOfSession ? sessionIdIn(request) : undefined)
  }
  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    let checked: Promise<void> | undefined
    try {
      const sender = admit(request.raw)
      if (route.ownPagesOnly && sender.page === 'allowed') {
        throw new AskbackError('forbidden', 'Only pages of this gateway itself may do this.')
      }
      if (route.allowed !== 'anyone') {
        const credential = authenticate(request.raw, sender, context)
        checked =
          credential instanceof Promise
            ? credential.then((found) => accept(request, found))
            : accept(request, credential)
      }
      if (isWrite) drain.checkWrite()
      route.beforeBody?.(request.params)
    } catch (error) {
      done(toAskbackError(error))
      return
    }
    if (checked) void continueAfter(checked, done)
    else done()
  }
}

async function continueAfter(checked: Promise<void>, done: (error?: Error) => void): Promise<void> {
  try {
    await checked
  } catch (error) {
    done(toAskbackError(error))
    return
  }
  done()
}

async function handleRequest(
  {
    route,
    handle,
    context,
  }: { route: ApiRoute; handle: NonNullable<ApiRoute['handle']>; context: GatewayContext },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { credential } = request
  if (credential) await checkAfterBody(context, credential, route)
  const access = accessOf(credential, context.authorizer)
  if (access) await checkAction(route, access, request)
  const response = await handle(readCall(route, context, { request, reply, access }))
  if (access && (route.action === 'read' || route.action === 'ask'))
    await access.checkStill(sessionIdIn(request))
  if (!('handled' in response)) sendResponse(reply, response)
}

/**
 * Checks the credential again after the body, which may take minutes to arrive: a person who was revoked or logged out meanwhile must not
 * act. Only changes by those who can be revoked are checked in a shared store, because that costs a query.
 */
function checkAfterBody(
  { credentials }: GatewayContext,
  credential: Credential,
  { method }: ApiRoute,
): Promise<void> | undefined {
  const isCurrent =
    method !== 'GET' && (credential.kind === 'person' || credential.external)
      ? credentials.isCurrentInStore(credential)
      : credentials.isCurrent(credential)
  if (typeof isCurrent !== 'boolean') return isCurrent.then(checkNotRevoked)
  checkNotRevoked(isCurrent)
  return undefined
}

/** Of a route under `/api/sessions/:id`. */
function sessionIdIn({ params }: FastifyRequest): string {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the path of these routes has the parameter `id`
  return (params as { id: string }).id
}

/** Asked after the body, too: what the caller was allowed when the request began may be over. */
async function checkAction({ action }: ApiRoute, access: CallAccess, request: FastifyRequest): Promise<void> {
  switch (action) {
    case 'administer':
      return access.checkAdminister()
    case 'checked':
    case 'filtered':
    case 'harmless':
    case 'public':
      return
    default:
      return access.check(sessionIdIn(request), action)
  }
}

function readCall(
  route: ApiRoute,
  { callers, host }: GatewayContext,
  { request, reply, access }: { request: FastifyRequest; reply: FastifyReply; access: CallAccess | null },
): AnyRouteCall {
  const { query, method, name, keyScope = name } = route
  const { credential, headers } = request
  const key = method === 'GET' ? undefined : headers['idempotency-key']
  return {
    // The router provides each of them as text, so their schema is used for the OpenAPI document only.
    params: request.params,
    query: query ? parse(query, request.query, 'the query') : undefined,
    body: bodyOf(route, request),
    credential,
    access,
    host: credential ? callers.bind(credential, headers) : host,
    idempotencyKey: credential ? idempotencyKey(key, keyScope, credential.id) : undefined,
    request,
    reply,
  }
}

/** A body must be well formed even if the route ignores it. */
function bodyOf({ body: schema, refusal, parsedByDesk }: ApiRoute, request: FastifyRequest): unknown {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `parseBodies` has replaced all parsers of the framework
  const parsed = request.body as ParsedBody | undefined
  if (parsed && !parsed.ok) throw parsed.error
  if (!schema) return undefined
  const value = parsed?.value
  if (refusal !== undefined && !schema.safeParse(value).success)
    throw new AskbackError('invalid_request', refusal)
  if (value === undefined && !schema.safeParse(undefined).success)
    throw new AskbackError('invalid_request', 'This needs a body in JSON.')
  return parsedByDesk && isRecord(value) ? value : parse(schema, value, 'the body')
}

function parse(schema: NonNullable<ApiRoute['body']>, value: unknown, what: string): unknown {
  return parseWith(schema, value, { code: 'invalid_request', what })
}

/** All routes. The framework's routes and the OpenAPI document are both made from this table. */
export function routeTable(
  context: GatewayContext,
  { version, mcp }: { version: string; mcp: McpHandler | undefined },
): ApiRoute[] {
  const routes = [
    ...tagged('Sessions', [
      ...sessionRoutes(context),
      ...folderRoutes(context),
      ...adoptRoutes(context),
      ...messageRoutes(),
    ]),
    ...tagged('Interactions', [...interactionRoutes(context), ...rendererRoutes(context)]),
    ...tagged('Tool calls', [...toolCallAnswerRoutes(), ...toolCallRoutes()]),
    ...tagged('Events', streamRoutes),
    ...tagged('Rules and audit', [...ruleRoutes(context), ...auditRoutes(context)]),
    ...tagged('People', [...tokenRoutes(context), ...loginRoutes(context)]),
    ...tagged('Connectors', connectorRoutes(context)),
    ...tagged('MCP', mcpRoutes(context, mcp)),
    ...tagged('AG-UI', aguiRoutes(context)),
    ...tagged('Operations', [...healthRoutes(context), ...metricsRoutes(context), ...backupRoutes(context)]),
  ]
  const { kinds } = context.host.desk
  return withOpenApi(routes, { version, kinds, cookieName: context.credentials.cookieName })
}

function tagged(tag: ApiTag, routes: ApiRoute[]): ApiRoute[] {
  return routes.map((each) => ({ ...each, tag }))
}
