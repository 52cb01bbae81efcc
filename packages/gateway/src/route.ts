import type { BoundHost, Clock, Host, PersonCaller, Store } from '@askback/core'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type * as z from 'zod'
import type { Authorizer } from './access/authorizer.js'
import type { CallAccess } from './access/call-access.js'
import type { SessionAction } from './access/embedder.js'
import type { ExternalLogin } from './access/external-login.js'
import type { GatewayConfig } from './config.js'
import type { AgentCredential, Credential, PersonCredential } from './credentials/credential.js'
import type { Credentials } from './credentials/credentials.js'
import type { Access, Callers } from './http/access.js'
import type { Admit } from './http/admission.js'
import type { Drain } from './http/drain.js'
import type { FailedLogins, AgentRate, RateLimit } from './http/rate-limits.js'
import type { RouteResponse } from './http/responses.js'
import type { TrustedProxies } from './http/trusted-proxy.js'
import type { Metrics } from './metrics.js'
import type { HeaderParameter } from './openapi/headers.js'
import type { ApiTag } from './openapi/tags.js'
import type { GatewayConnector } from './routes/connectors.js'
import type { RendererFiles } from './routes/renderers.js'

/**
 * Which callers may use a route. People may use every route. `anyone`: no credential needed; `person`: people only; `agent`: also agents,
 * in their own sessions; `outside_agent`: also agents whose credential is for no single session; `any_agent`: also agents, and the
 * handler checks the session.
 */
export type AllowedCallers = 'anyone' | 'person' | 'agent' | 'outside_agent' | 'any_agent'

/**
 * A session action is checked for the session in the path, and `administer` for the gateway. `checked`: the handler asks, because the
 * session or the action depends on the body; `filtered`: the handler leaves out what the caller may not read; `harmless`: it
 * reveals and changes nothing of any session or person but the caller; `public`: there is no caller.
 */
export type RouteAction = SessionAction | 'administer' | 'checked' | 'filtered' | 'harmless' | 'public'

/** What the OpenAPI document says of a response: the schema of its JSON, or other content types and headers. */
export type ResponseContent =
  | z.ZodType
  | { description: string; types: string[]; json?: z.ZodType; headers?: Record<string, string> }

export interface RouteSpec<W extends AllowedCallers, Params, Query, Body> {
  /** The operation id in the OpenAPI document, which generated clients use as the name of a method. */
  name: string
  /**
   * Part of the scope of idempotency keys. Keys are stored, so it stays as it is if the operation gets another name.
   * @default the name
   */
  keyScope?: string
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  allowed: W
  /** What the embedder's `authorize` is asked before the handler runs. */
  action: RouteAction
  summary: string
  /** Refused for pages of other origins, even of those that the operator allows. */
  ownPagesOnly?: true
  params?: z.ZodType<Params>
  query?: z.ZodType<Query>
  /** Headers that only some routes read. */
  headers?: HeaderParameter[]
  body?: z.ZodType<Body>
  /** A smaller limit than that of other routes: a caller without a credential must not cost much. */
  bodyBytes?: number
  /** Throws for a request that is refused whatever its body contains. Called before the body is read. */
  beforeBody?: (params: Params) => void
  /** The body may also be NDJSON, with each of its `items` on a line and up to `historyBytes` long. */
  lines?: true
  /** The desk parses the fields of the body, so the schema is used for the OpenAPI document only. */
  parsedByDesk?: true
  /** The message for a body that does not match the schema, instead of the schema's own. */
  refusal?: string
  /** By status. Those of errors are added to the document from `errors`. */
  responses: Record<number, ResponseContent>
  /** Statuses of errors that not every route has. */
  errors?: number[]
  /** Left out if the route is only described here, and served elsewhere. */
  handle?: (
    call: RouteCall<W, Params, Query, Body>,
  ) => Promise<RouteResponse | Handled> | RouteResponse | Handled
}

/** The handler has sent the response itself. */
export interface Handled {
  handled: true
}

export interface RouteCall<W extends AllowedCallers, Params, Query, Body> {
  params: Params
  query: Query
  body: Body
  credential: CredentialFor<W>
  /** What the embedder's `authorize` says of this caller; `null` if there is none, and so everything is allowed. */
  access: CallAccess | null
  /** The host, bound to the caller of the request. */
  host: HostFor<W>
  /** The idempotency key of the request in its scope. */
  idempotencyKey: string | undefined
  request: FastifyRequest
  reply: FastifyReply
}

type CredentialFor<W extends AllowedCallers> = W extends 'anyone'
  ? null
  : W extends 'person'
    ? PersonCredential
    : PersonCredential | AgentCredential

type HostFor<W extends AllowedCallers> = W extends 'person' ? BoundHost<PersonCaller> : BoundHost

/** With the types of its request erased, so that all routes fit in one table. */
export type ApiRoute = RouteSpec<AllowedCallers, unknown, unknown, unknown> & {
  /** Its group in the OpenAPI document. */
  tag?: ApiTag
}
export type AnyRouteCall = RouteCall<AllowedCallers, unknown, unknown, unknown>

export function route<W extends AllowedCallers, Params, Query, Body>(
  spec: RouteSpec<W, Params, Query, Body>,
): ApiRoute {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each request is parsed with the schemas of its own route before the handler gets it
  return spec as unknown as ApiRoute
}

declare module 'fastify' {
  interface FastifyRequest {
    credential: Credential | null
  }
  interface FastifyContextConfig {
    lines?: boolean
    bodyBytes?: number
  }
}

/** What all routes of one gateway share. */
export interface GatewayContext {
  host: Host
  store: Store
  credentials: Credentials
  config: GatewayConfig
  metrics: Metrics
  connectors: readonly GatewayConnector[]
  renderers: RendererFiles
  clock: Clock
  failedLogins: FailedLogins
  admit: Admit
  proxies: TrustedProxies
  access: Access
  callers: Callers
  authorizer: Authorizer | null
  external: ExternalLogin | null
  rateLimit: RateLimit | null
  agentRate: AgentRate | null
  drain: Drain
  /** Whether people choose folders of this machine. */
  folders: boolean
  /** The URL of this gateway; `null` while it does not listen. */
  ownUrl: () => URL | null
}
