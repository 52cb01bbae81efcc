import type { Clock, Host, Store } from '@askback/core'
import type { GatewayConfig } from './config.js'
import type { Credentials } from './credentials/credentials.js'
import type { FailedLogins } from './credentials/failed-logins.js'
import type { Access } from './http/access.js'
import type { Admit } from './http/admit.js'
import type { Drain } from './http/drain.js'
import type { AgentRate } from './http/agent-rate.js'
import type { RateLimit } from './http/rate-limit.js'
import type { TrustedProxies } from './http/trusted-proxy.js'
import type { Metrics } from './metrics.js'
import type { GatewayConnector } from './routes/connectors.js'

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
