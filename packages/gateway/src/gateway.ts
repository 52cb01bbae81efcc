import type { Clock, Host, Store } from '@askback/core'
import { AskbackError } from '@askback/protocol'
import { fastify, LogController, type FastifyInstance, type FastifyServerOptions } from 'fastify'
import { X509Certificate } from 'node:crypto'
import { isIP, isIPv6, type AddressInfo } from 'node:net'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex, Writable } from 'node:stream'
import { Authorizer } from './access/authorizer.js'
import type { Authenticate, Authorize } from './access/embedder.js'
import { ExternalLogin } from './access/external-login.js'
import { gatewayConfig, type GatewaySettings } from './config.js'
import type { Credentials } from './credentials/credentials.js'
import { Access, Callers } from './http/access.js'
import { createAdmission, createOriginGuard } from './http/admission.js'
import { parseBodies } from './http/body.js'
import { serveCors } from './http/cors.js'
import { Drain, InFlight } from './http/drain.js'
import { FailedLogins, AgentRate, RateLimit } from './http/rate-limits.js'
import { respondToBrokenRequest, sendErrorTo, toAskbackError } from './http/responses.js'
import { createTrustedProxies } from './http/trusted-proxy.js'
import { noRoute, serveWebApp } from './http/web-app.js'
import { Metrics } from './metrics.js'
import type { MemorySocket } from './mount/memory-socket.js'
import { checkPrefix, setMount, type Mount } from './mount/mount.js'
import { sendFailure, registerRoutes, routeTable } from './register-routes.js'
import type { GatewayContext } from './route.js'
import type { GatewayConnector } from './routes/connectors.js'
import type { McpHandler } from './routes/mcp.js'
import { checkRenderers } from './routes/renderers.js'
import { serveStreams } from './serve-streams.js'
import { watchClock } from './store-health.js'
import { refuseUpgrade } from './streams/ws-server.js'

/** The options of `createGateway`. */
export interface GatewayOptions {
  /** Runs sessions and agents. The caller closes it after the gateway. */
  host: Host
  /** The store of the host's desk. The caller closes it after the host. */
  store: Store
  /** The caller closes them. */
  credentials: Credentials
  /** @default every setting has its own default, see `gatewayConfig` */
  config?: GatewaySettings
  /**
   * Pass the instance whose `measureAppends` wraps the store, so that appends are measured.
   * @default a new one
   */
  metrics?: Metrics
  /** Connectors that people pair with, or that receive HTTP requests. */
  connectors?: readonly GatewayConnector[]
  /** The folder with the build of the web app. Without it only the API is served. */
  webApp?: string
  /** ES modules that draw kinds in the web app: their files by kind. Each is served as one file, so it must not import others. */
  renderers?: Readonly<Record<string, string>>
  /** Serves HTTPS instead of HTTP. These are the contents of the PEM files, not their paths. */
  tls?: { cert: string; key: string }
  /**
   * Refuse requests that come neither from this machine nor through a trusted proxy.
   * @default false
   */
  requireProxy?: boolean
  /**
   * The login of the program that embeds the gateway. Tokens of Askback itself stay valid.
   * @default only tokens and browser logins of Askback
   */
  authenticate?: Authenticate<never>
  /**
   * Decides who may see and do what: on every route, stream, socket and list.
   * @default every person may do everything
   */
  authorize?: Authorize<never>
  /**
   * How long `authenticate` and `authorize` may take, in milliseconds. Later than that, the request is refused.
   * @default 5000
   */
  decisionMs?: number
  /**
   * Whether people name folders of this machine for the agents that run here. Then `~` is replaced, a session in a folder that cannot be
   * used is refused, and `GET /api/folders` tells people, but no agents, whether a folder exists.
   * @default false
   */
  folders?: boolean
  /** Serves `/mcp`, which is not found without it. */
  mcp?: McpHandler
  /**
   * The version in the OpenAPI document.
   * @default '0.0.0'
   */
  version?: string
  /** Receives structured logs as lines of JSON. Nothing is logged without it. */
  log?: Writable
  /** @default the clock of the desk */
  clock?: Clock
}

/** Enough for a query of a busy database. */
const DECISION_MS = 5000

/** A gateway, which listens by itself or inside of another server. */
export interface Gateway {
  /** The server of the gateway. Tests may call it without a port, with `app.inject`. */
  readonly app: FastifyInstance
  /**
   * Resolves to the URL of the gateway. Rejects if the port cannot be opened.
   * @default host 127.0.0.1, and a free port
   */
  listen(where?: { host?: string; port?: number }): Promise<string>
  /**
   * Handles a request that another server received. Its `url` must be without the prefix of the mount. Does not use a port of its own,
   * and needs no `listen`.
   */
  handle(request: IncomingMessage, response: ServerResponse, mount: Mount): Promise<void>
  /** The same for an upgrade to a WebSocket. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, mount: Mount): Promise<void>
  /** Serves a connection inside this process. Rejects with `unavailable` if the gateway is closed. */
  connect(socket: MemorySocket): Promise<void>
  /**
   * Stops accepting work, ends streams and long polls, and waits for requests in flight, at most `config.drainMs`. What is pending
   * stays pending.
   */
  drain(): Promise<void>
  /**
   * Drains, then stops everything that the gateway started itself. Host, credentials and store belong to the caller that made them,
   * who closes them afterwards in this order: agents may write until the host is closed, so the store is last. A second call
   * waits for the first.
   */
  close(): Promise<void>
}

/**
 * Serves a host over HTTP, SSE and WebSocket. It has no rules of its own except which credential may use which route. Throws if the
 * settings are invalid.
 *
 * @example
 * const store = memoryStore()
 * const host = createHost({ desk: createDesk({ store }), onError: console.error })
 * const credentials = await createCredentials({ store, owner, agentToken, onError: console.error })
 * const gateway = createGateway({ host, store, credentials })
 * const url = await gateway.listen({ port: 4100 })
 * // At the end:
 * await gateway.close()
 * credentials.close()
 * await host.close()
 * await store.close()
 */
export function createGateway(options: GatewayOptions): Gateway {
  const { host, store, credentials, clock = host.desk.clock, metrics = new Metrics() } = options
  const config = gatewayConfig.parse(options.config ?? {})
  checkRenderers(options.renderers ?? {}, host.desk.kinds)
  const app = createServer(serverOptions(config, options.log), options.tls)
  const { failedLoginsPerMinute, requestsPerMinute, agentRequestsPerSecond, agentBurst } = config.limits
  const failedLogins = new FailedLogins(clock, failedLoginsPerMinute)
  const proxies = createTrustedProxies(config.trustProxy)
  const { decisionMs = DECISION_MS } = options
  const onError = (error: unknown) => app.log.error({ err: error }, 'A function of the embedder failed')
  const authorizer =
    options.authorize === undefined
      ? null
      : new Authorizer({ authorize: options.authorize, store, clock, timeoutMs: decisionMs, onError })
  let ownUrl: URL | null = null
  const context: GatewayContext = {
    host,
    store,
    credentials,
    config,
    metrics,
    connectors: options.connectors ?? [],
    renderers: options.renderers ?? {},
    clock,
    failedLogins,
    admit: createAdmission({
      checkOrigin: createOriginGuard({ hosts: config.allowedHosts, origins: config.allowedOrigins }),
      failedLogins,
      proxies,
      requireProxy: options.requireProxy ?? false,
    }),
    proxies,
    access: new Access(host.desk, authorizer),
    callers: new Callers(host),
    authorizer,
    external:
      options.authenticate === undefined
        ? null
        : new ExternalLogin({
            authenticate: options.authenticate,
            cookiesOfAllowedPages: config.allowedOriginsMaySendCookies,
            clock,
            timeoutMs: decisionMs,
            onError,
          }),
    rateLimit: requestsPerMinute === undefined ? null : new RateLimit(clock, requestsPerMinute),
    agentRate:
      agentRequestsPerSecond === null
        ? null
        : new AgentRate(clock, { perSecond: agentRequestsPerSecond, burst: agentBurst }),
    drain: new Drain(),
    folders: options.folders ?? false,
    ownUrl: () => ownUrl,
  }
  const inFlight = new InFlight(app.server)
  const stopWatching = metrics.watch(host, store, () => clock.now())
  const stopClockWatch =
    store.clock && watchClock(store.clock, (details, message) => app.log.warn(details, message))
  parseBodies(app, config.limits)
  app.setErrorHandler((error, request, reply) => sendFailure(request, reply, error))
  app.setNotFoundHandler((request, reply) => {
    sendFailure(request, reply, noRoute(request.method, request.url.split('?', 1)[0]!))
  })
  serveCors(app, context)
  registerRoutes(app, routeTable(context, { version: options.version ?? '0.0.0', mcp: options.mcp }), context)
  const { streams, stop: stopStreams } = serveStreams(app, context)
  serveWebApp(app, options.webApp, context)

  let draining: Promise<void> | undefined
  let isClosed = false
  /** The port stays open while requests are in flight, so that new requests get `unavailable` and not a refused connection. */
  async function drain(): Promise<void> {
    const late = setTimeout(() => {
      app.server.closeAllConnections()
      inFlight.destroyAll()
    }, config.drainMs)
    try {
      context.drain.start()
      await Promise.all([streams.drain(), inFlight.end()])
      await app.close()
    } finally {
      isClosed = true
      clearTimeout(late)
    }
  }

  let ready: Promise<unknown> | undefined
  /** The routes exist when the framework is ready. A mounted gateway that is closed has no port that would refuse connections. */
  async function receive(request: IncomingMessage, mount: Mount): Promise<void> {
    setMount(request, { ...mount, prefix: checkPrefix(mount.prefix) })
    await checkOpen()
  }

  async function checkOpen(): Promise<void> {
    await (ready ??= Promise.resolve(app.ready()))
    if (isClosed) throw new AskbackError('unavailable', 'This gateway is closed.')
  }

  return {
    app,
    async handle(request, response, mount) {
      try {
        await receive(request, mount)
      } catch (error) {
        sendErrorTo(response, toAskbackError(error))
        return
      }
      app.server.emit('request', request, response)
    },
    async connect(socket) {
      await checkOpen()
      app.server.emit('connection', socket)
    },
    async upgrade(request, socket, head, mount) {
      try {
        await receive(request, mount)
      } catch (error) {
        refuseUpgrade(socket, toAskbackError(error))
        return
      }
      app.server.emit('upgrade', request, socket, head)
    },
    async listen({ host: address = '127.0.0.1', port = 0 } = {}) {
      // Thousands of clients reconnect at once after a restart: the default backlog of 511 would refuse some.
      await app.listen({ host: address, port, backlog: 4096 })
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port, not on a path
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
    // URLs may contain one-time codes, and bodies what people wrote: neither may be logged.
    logController: new LogController({ disableRequestLogging: true }),
    // Only errors are logged, and they contain the request's id, so a request needs no logger of its own.
    childLoggerFactory: (logger) => logger,
    // A HEAD request would claim a settlement without receiving it.
    exposeHeadRoutes: false,
    // The routes respond with an error of the protocol instead.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    requestTimeout: 120_000,
    routerOptions: { maxParamLength: 5000, ignoreTrailingSlash: false },
    frameworkErrors: (error, request, reply) => sendFailure(request, reply, error),
    clientErrorHandler: respondToBrokenRequest,
  } satisfies FastifyServerOptions
}

function createServer(
  options: ReturnType<typeof serverOptions>,
  tls: GatewayOptions['tls'],
): FastifyInstance {
  if (!tls) return fastify(options)
  return fastify({ ...options, https: tls })
}

/** With TLS, a name that the certificate covers: clients refuse any other. */
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
