import type { Clock, Host, Store } from '@askback/core'
import { fastify, LogController, type FastifyInstance, type FastifyServerOptions } from 'fastify'
import { X509Certificate } from 'node:crypto'
import { isIP, isIPv6, type AddressInfo } from 'node:net'
import type { Writable } from 'node:stream'
import { gatewayConfig, type GatewaySettings } from './config.js'
import type { Credentials } from './credentials/credentials.js'
import { Access } from './http/access.js'
import { admission, originGuard } from './http/admission.js'
import { parseBodies } from './http/body.js'
import { answerCors } from './http/cors.js'
import { Drain, InFlight } from './http/drain.js'
import { FailedLogins, AgentRate, RateLimit } from './http/rate-limits.js'
import { answerBrokenRequest } from './http/responses.js'
import { trustedProxies } from './http/trusted-proxy.js'
import { noRoute, serveWebApp } from './http/web-app.js'
import { Metrics } from './metrics.js'
import { fail, registerRoutes, routeTable } from './register-routes.js'
import type { GatewayContext } from './route.js'
import type { GatewayConnector } from './routes/connectors.js'
import type { McpHandler } from './routes/mcp.js'
import { serveStreams } from './serve-streams.js'
import { watchClock } from './store-health.js'

export interface GatewayOptions {
  host: Host
  store: Store
  credentials: Credentials
  config?: GatewaySettings
  /** Made before the store if its appends are to be timed. */
  metrics?: Metrics
  /** Those that people pair with, or that are called from outside. */
  connectors?: readonly GatewayConnector[]
  /** The build of the web app. */
  webApp?: string
  /** Serves HTTPS instead of HTTP. The contents of the files, not their paths. */
  tls?: { cert: string; key: string }
  /** Refuse whoever comes neither from this machine nor through a trusted proxy. */
  requireProxy?: boolean
  /** Serves `/mcp`; nobody does without it. */
  mcp?: McpHandler
  version?: string
  /** Where structured logs go; nowhere unless set. */
  log?: Writable
  /** @default the desk's */
  clock?: Clock
}

export interface Gateway {
  readonly app: FastifyInstance
  /** Resolves to the address it can be reached under. */
  listen(where?: { host?: string; port?: number }): Promise<string>
  /** Ends what is under way in good order: nothing that waits is cancelled. */
  drain(): Promise<void>
  /**
   * Drains, then stops everything that the gateway started itself. Host, credentials and store belong to the caller that made them,
   * who closes them afterwards in this order: agents may write until the host is closed, so the store is last. A second call
   * waits for the first.
   */
  close(): Promise<void>
}

/** HTTP around a host: no rules of its own beyond who may do what. */
export function createGateway(options: GatewayOptions): Gateway {
  const { host, store, credentials, clock = host.desk.clock, metrics = new Metrics() } = options
  const config = gatewayConfig.parse(options.config ?? {})
  const app = createServer(serverOptions(config, options.log), options.tls)
  const { failedLoginsPerMinute, requestsPerMinute, agentRequestsPerSecond, agentBurst } = config.limits
  const failedLogins = new FailedLogins(clock, failedLoginsPerMinute)
  const proxies = trustedProxies(config.trustProxy)
  let ownUrl: URL | null = null
  const context: GatewayContext = {
    host,
    store,
    credentials,
    config,
    metrics,
    connectors: options.connectors ?? [],
    clock,
    failedLogins,
    admit: admission({
      checkOrigin: originGuard({ hosts: config.allowedHosts, origins: config.allowedOrigins }),
      failedLogins,
      proxies,
      requireProxy: options.requireProxy ?? false,
    }),
    proxies,
    access: new Access(host.desk),
    rateLimit: requestsPerMinute === undefined ? null : new RateLimit(clock, requestsPerMinute),
    agentRate:
      agentRequestsPerSecond === null
        ? null
        : new AgentRate(clock, { perSecond: agentRequestsPerSecond, burst: agentBurst }),
    drain: new Drain(),
    ownUrl: () => ownUrl,
  }
  const inFlight = new InFlight(app.server)
  const stopWatching = metrics.watch(host, store, () => clock.now())
  const stopClockWatch =
    store.clock && watchClock(store.clock, (details, message) => app.log.warn(details, message))
  parseBodies(app, config.limits)
  app.setErrorHandler((error, request, reply) => fail(request, reply, error))
  app.setNotFoundHandler((request, reply) => {
    fail(request, reply, noRoute(request.method, request.url.split('?', 1)[0]!))
  })
  answerCors(app, context)
  registerRoutes(app, routeTable(context, { version: options.version ?? '0.0.0', mcp: options.mcp }), context)
  const { streams, stop: stopStreams } = serveStreams(app, context)
  serveWebApp(app, options.webApp, context)

  let draining: Promise<void> | undefined
  /** Whoever comes while answers are still under way is told so, instead of finding nobody. */
  async function drain(): Promise<void> {
    const late = setTimeout(() => app.server.closeAllConnections(), config.drainMs)
    try {
      context.drain.start()
      await Promise.all([streams.drain(), inFlight.end()])
      await app.close()
    } finally {
      clearTimeout(late)
    }
  }

  return {
    app,
    async listen({ host: address = '127.0.0.1', port = 0 } = {}) {
      // Thousands of clients come back at once after a restart: the usual 511 would turn some away.
      await app.listen({ host: address, port, backlog: 4096 })
      const url = urlOf(app.server.address() as AddressInfo, options.tls, config.allowedHosts)
      ownUrl = new URL(url)
      return url
    },
    drain: () => (draining ??= drain()),
    async close() {
      await (draining ??= drain())
      stopWatching()
      stopClockWatch?.()
      stopStreams()
    },
  }
}

function serverOptions(config: ReturnType<typeof gatewayConfig.parse>, log: Writable | undefined) {
  return {
    logger: log ? { level: config.logLevel, stream: log } : false,
    // Addresses can hold one-time codes, bodies what people say: neither belongs in a log.
    logController: new LogController({ disableRequestLogging: true }),
    // Only errors are logged, and those name their request themselves: most need no logger of their own.
    childLoggerFactory: (logger) => logger,
    // A HEAD would claim a settlement that nobody gets.
    exposeHeadRoutes: false,
    // The routes themselves say so, in the contract's words.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    requestTimeout: 120_000,
    routerOptions: { maxParamLength: 5000, ignoreTrailingSlash: false },
    frameworkErrors: (error, request, reply) => fail(request, reply, error),
    clientErrorHandler: answerBrokenRequest,
  } satisfies FastifyServerOptions
}

function createServer(
  options: ReturnType<typeof serverOptions>,
  tls: GatewayOptions['tls'],
): FastifyInstance {
  if (!tls) return fastify(options)
  return fastify({ ...options, https: tls })
}

/** Under TLS a name that the certificate is for: clients refuse any other. */
function urlOf({ address, port }: AddressInfo, tls: GatewayOptions['tls'], hosts: readonly string[]): string {
  const name = address === '0.0.0.0' || address === '::' ? '127.0.0.1' : address
  const certificate = tls && new X509Certificate(tls.cert)
  const isCovered = (host: string) => (isIP(host) ? certificate?.checkIP(host) : certificate?.checkHost(host))
  const local = isLoopback(name) ? ['localhost'] : []
  const host = (certificate && [name, ...local, ...hosts].find(isCovered)) ?? name
  return `${tls ? 'https' : 'http'}://${isIPv6(host) ? `[${host}]` : host}:${port}`
}

function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1'
}
