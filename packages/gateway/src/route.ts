import type { Origin, Clock, Host, Store } from '@askback/core'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { GatewayConfig } from './config.js'
import type { AgentCredential, Credential, PersonCredential } from './credentials/credential.js'
import type { Credentials } from './credentials/credentials.js'
import type { Access } from './http/access.js'
import type { Admit } from './http/admission.js'
import type { Drain } from './http/drain.js'
import type { FailedLogins, AgentRate, RateLimit } from './http/rate-limits.js'
import type { Answer } from './http/responses.js'
import type { TrustedProxies } from './http/trusted-proxy.js'
import type { Metrics } from './metrics.js'
import type { GatewayConnector } from './routes/connectors.js'

/**
 * Who may use a route: `anyone`, without a credential; a `person`; an `agent` as well, in its own sessions; an
 * `outside_agent`, which is bound to no session; or `any_agent`, where the handler finds out which session it is about.
 */
export type Who = 'anyone' | 'person' | 'agent' | 'outside_agent' | 'any_agent'

/** What the document says of an answer: its schema, or what else it holds. */
export type Described = z.ZodType | { description: string; type: string; json?: z.ZodType }

export interface RouteSpec<W extends Who, Params, Query, Body> {
  /** Names the operation: in the document, and in the scope of idempotency keys. */
  name: string
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  who: W
  summary: string
  /** Not even for pages of origins that the operator allows. */
  ownPagesOnly?: true
  params?: z.ZodType<Params>
  query?: z.ZodType<Query>
  body?: z.ZodType<Body>
  /** The largest body, where that is less than for other routes: whoever needs no credential must not cost much. */
  bodyBytes?: number
  /** Throws for a request that is refused whatever its body says, before the body is read. */
  beforeBody?: (params: Params) => void
  /** The body's `items` may also come on lines of their own, and be many more. */
  lines?: true
  /** The body goes to the desk field by field, which parses it: here the schema is for the document. */
  parsedByDesk?: true
  /** Said of a body that does not fit, instead of what the schema says. */
  refusal?: string
  /** By status; those of errors come by themselves. */
  answers: Record<number, Described>
  /** Of errors that only some routes have. */
  errors?: number[]
  /** Without one it is described here and served elsewhere. */
  handle?: (call: Call<W, Params, Query, Body>) => Promise<Answer | Handled> | Answer | Handled
}

/** The handler has answered by itself. */
export interface Handled {
  handled: true
}

export interface Call<W extends Who, Params, Query, Body> {
  params: Params
  query: Query
  body: Body
  credential: CredentialFor<W>
  /** Whose doing it is, and its idempotency key within its scope. */
  origin: Origin
  request: FastifyRequest
  reply: FastifyReply
}

type CredentialFor<W extends Who> = W extends 'anyone'
  ? null
  : W extends 'person'
    ? PersonCredential
    : PersonCredential | AgentCredential

/** With its types erased, as it stands in the table. */
export type Route = RouteSpec<Who, unknown, unknown, unknown>
export type AnyCall = Call<Who, unknown, unknown, unknown>

export function route<W extends Who, Params, Query, Body>(spec: RouteSpec<W, Params, Query, Body>): Route {
  // Each call is parsed by the schemas of its own route before its handler sees it.
  return spec as unknown as Route
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

/** What the routes of one gateway share. */
export interface GatewayContext {
  host: Host
  store: Store
  credentials: Credentials
  config: GatewayConfig
  metrics: Metrics
  connectors: readonly GatewayConnector[]
  clock: Clock
  failedLogins: FailedLogins
  admit: Admit
  proxies: TrustedProxies
  access: Access
  rateLimit: RateLimit | null
  agentRate: AgentRate | null
  drain: Drain
  /** Where this gateway is reached; `null` while it does not listen. */
  ownUrl: () => URL | null
}
