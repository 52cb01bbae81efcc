import {
  createDesk,
  createHost,
  type AgentAdapter,
  type Bus,
  type Desk,
  type Host,
  type InteractionKind,
  type Leases,
  type SessionDefaults,
  type SessionHandle,
  type Store,
} from '@askback/core'
import type { FastifyRequest } from 'fastify'
import { existsSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import * as z from 'zod'
import type { AuthenticatedActor, Authenticate, Authorize } from './access/embedder.js'
import type { GatewaySettings } from './config.js'
import { createSecret } from './credentials/credential.js'
import { createCredentials, type Credentials } from './credentials/credentials.js'
import { createGateway, type Gateway, type GatewayOptions } from './gateway.js'
import { expressHandler, type ExpressHandler } from './mount/express.js'
import { fastifyPlugin, type FastifyPlugin } from './mount/fastify.js'
import { fetchHandlers, type FetchHandlers } from './mount/fetch.js'
import { readLink } from './read-link.js'

/** The options of `createAskback`. */
export interface AskbackOptions {
  /**
   * A store, which you close yourself after `askback.close()`, or a function that opens one, like `sqlite('./askback.db')`, which
   * `askback.close()` closes.
   */
  store: Store | (() => Store)
  /** Kinds in addition to `question`, `approval`, `plan_review` and `form`. */
  kinds?: InteractionKind[]
  /**
   * Agents that run in this process.
   * @default []
   */
  agents?: AgentAdapter[]
  /**
   * The token of the first person, whose browsers log in with `openUrl` of `serve`.
   * @default a new one, which nobody knows: use `authenticate`
   */
  token?: string
  /**
   * The token of agents that run elsewhere. They may ask in every session with `agent: null`.
   * @default a new one, which nobody knows
   */
  agentToken?: string
  /** The address at which the scripts of agents reach this gateway, with the path of its mount. `serve` knows its own. */
  url?: string
  /**
   * The folder with the build of the web app; `null` for no web app.
   * @default the web app of this package
   */
  webApp?: string | null
  /**
   * Whether people name folders of this machine for `agents`: `~` is replaced, a session in a folder that cannot be used is refused, and
   * people who may administer can ask whether a folder exists.
   * @default false
   */
  folders?: boolean
  /** On a store that several processes share: how they reach each other, without waiting for the next poll. */
  bus?: Bus
  /** On a store that several processes share, if `agents` run here: which process runs the agent of a session. */
  leases?: Leases
  /**
   * ES modules that draw kinds of your own in the web app: their files by kind. A kind without one is drawn as a form.
   * @default {}
   */
  renderers?: Readonly<Record<string, string>>
  /** All other settings, the same as in `config.json` of `askback serve`. */
  config?: GatewaySettings
  /** @default writes to `console.error` */
  onError?: (error: unknown) => void
}

/** The options of one mount in your server. */
export interface MountOptions<Request, Who extends AuthenticatedActor = AuthenticatedActor> {
  /**
   * Who a request comes from, by the login of your product.
   * @default only tokens of Askback are accepted
   */
  authenticate?: Authenticate<Request, Who>
  /**
   * Who may see and do what. Holders of Askback's own tokens come as `{ id, name, role }`, without the fields of your product.
   * @default everybody who is authenticated may do everything in all sessions
   */
  authorize?: Authorize<Who>
  /** Origins whose pages may call the API: with a token, or with `credentials` also with cookies that `authenticate` reads. */
  cors?: string[] | { origins: string[]; credentials?: boolean }
  /**
   * Names of your server, without ports, in addition to those of this machine. Requests for other names are refused, so that no other
   * site can reach it by a DNS name of its own.
   */
  hosts?: string[]
}

/** Askback inside of your own server. */
export interface EmbeddedAskback {
  readonly desk: Desk
  readonly host: Host
  /** Resolves when what the last process left is resumed. Rejects if the store cannot be read. */
  readonly ready: Promise<void>
  /** Asks in this process: the same as `askback.desk.session(id)`. */
  session(id: string, defaults?: SessionDefaults | null): SessionHandle
  /**
   * Middleware for Express. Mount it before parsers of bodies, or after them.
   *
   * @example
   * const handler = askback.express({ authenticate })
   * app.use('/askback', handler)
   * handler.attach(app.listen(3000)) // WebSockets
   */
  express<
    Request extends IncomingMessage = IncomingMessage,
    Who extends AuthenticatedActor = AuthenticatedActor,
  >(
    options?: MountOptions<Request, Who>,
  ): ExpressHandler<Request>
  /**
   * A plugin for Fastify.
   *
   * @example
   * await app.register(askback.fastify({ authenticate }), { prefix: '/askback' })
   */
  fastify<Who extends AuthenticatedActor = AuthenticatedActor>(
    options?: MountOptions<FastifyRequest, Who>,
  ): FastifyPlugin
  /**
   * Handlers for servers that speak the Fetch API, on Node.js. They stream server-sent events, and have no WebSockets.
   *
   * @example
   * // app/askback/[[...path]]/route.ts of Next.js
   * export const { GET, POST, DELETE, OPTIONS } = askback.fetchHandlers({ prefix: '/askback', authenticate })
   */
  fetchHandlers<Who extends AuthenticatedActor = AuthenticatedActor>(
    options?: MountOptions<Request, Who> & { prefix?: string },
  ): FetchHandlers
  /** Listens by itself. Resolves to its address, and to a link that logs a browser of the first person in, once. */
  serve<Who extends AuthenticatedActor = AuthenticatedActor>(
    options?: MountOptions<IncomingMessage, Who> & { host?: string; port?: number },
  ): Promise<{ url: string; openUrl: string }>
  /**
   * Ends the streams, sockets and long polls of an actor, for example when they sign out of your product: in all processes on the
   * same store, at once with a `bus`, and within five seconds without one. What they send later is authenticated again.
   */
  revoke(actorId: string): Promise<void>
  /** Stops everything that was started here, and closes the store if it was opened here. What is pending stays pending. */
  close(): Promise<void>
}

/**
 * Askback inside of your own server.
 *
 * @example
 * const askback = createAskback({ store: sqlite('./askback.db') })
 * app.use('/askback', askback.express({ authenticate, authorize }))
 */
export function createAskback(options: AskbackOptions): EmbeddedAskback {
  const { kinds, agents = [], bus, leases, config = {}, onError = reportError } = options
  const store = typeof options.store === 'function' ? options.store() : options.store
  const { pendingPerSession, requestBytes, sessions } = config.limits ?? {}
  const limits = Object.fromEntries(
    Object.entries({ pendingPerSession, requestBytes, sessions }).filter(([, value]) => value !== undefined),
  )
  const { protectedPaths = [], agents: { idleMinutes } = {} } = config
  const desk = createDesk({ store, readLink, limits, protectedPaths, onError, ...(kinds && { kinds }) })
  const credentials = createCredentials({
    store,
    owner: { name: 'owner of this gateway', tokens: [options.token ?? createSecret('askback_person')] },
    agentToken: options.agentToken ?? createSecret('askback_agent'),
    ...(config.loginDays !== undefined && { loginDays: config.loginDays }),
    ...(bus && { bus }),
    onError,
  })
  let url: string | Promise<string> | undefined = options.url
  const host = createHost({
    desk,
    agents,
    onError,
    ...(idleMinutes !== undefined && { freeAfterMs: idleMinutes === null ? null : idleMinutes * 60_000 }),
    ...(bus && { bus }),
    ...(leases && { leases }),
    env: async (sessionId) => ({
      ...(url !== undefined && { ASKBACK_URL: await url }),
      ASKBACK_SESSION: sessionId,
      ASKBACK_AGENT_TOKEN: (await credentials).sessionToken(sessionId),
    }),
  })
  const gateways: Promise<Gateway>[] = []
  const detaching: (() => void)[] = []
  const webApp = options.webApp === undefined ? packedWebApp() : (options.webApp ?? undefined)
  const log = errorLog(onError)

  function start(mount: AnyMountOptions): Promise<Gateway> {
    const gateway = credentials.then((found) =>
      createGateway({ ...gatewayOptions(mount, config), ...parts(found) }),
    )
    // Each request gets the error, and so does `ready`.
    gateway.catch(() => undefined)
    gateways.push(gateway)
    return gateway
  }

  const parts = (found: Credentials) => ({
    host,
    store,
    credentials: found,
    log,
    folders: options.folders ?? false,
    ...(webApp !== undefined && { webApp }),
    ...(options.renderers && { renderers: options.renderers }),
  })

  async function close(): Promise<void> {
    for (const detach of detaching) detach()
    for (const gateway of await Promise.allSettled(gateways))
      if (gateway.status === 'fulfilled') await gateway.value.close()
    await credentials.then(
      (found) => found.close(),
      () => undefined,
    )
    await host.close()
    if (typeof options.store === 'function') await store.close()
  }

  const ready = Promise.all([host.ready, credentials]).then(() => undefined)
  // Who does not wait for it gets the error with each request.
  ready.catch(() => undefined)
  let closing: Promise<void> | undefined
  const onDetach = (detach: () => void) => void detaching.push(detach)
  return {
    desk,
    host,
    ready,
    session: (id, defaults) => desk.session(id, defaults),
    express: (mount = {}) => expressHandler(start(mount), onDetach),
    fastify: (mount = {}) => fastifyPlugin(start(mount), onDetach),
    fetchHandlers: ({ prefix = '', ...mount } = {}) => fetchHandlers(start(mount), prefix),
    async serve({ host: address, port, ...mount } = {}) {
      const gateway = await start(mount)
      const listening = gateway.listen({
        ...(address !== undefined && { host: address }),
        ...(port !== undefined && { port }),
      })
      url ??= listening
      const found = await credentials
      const own = await listening
      return { url: own, openUrl: `${own}/login?code=${found.createLoginCode(found.owner)}` }
    },
    async revoke(actorId) {
      await (await credentials).revokeExternal(actorId)
    },
    close: () => (closing ??= close()),
  }
}

/** With the types of its request and actor erased. */
type AnyMountOptions = Pick<MountOptions<never>, 'cors' | 'hosts'> & {
  authenticate?: Authenticate<never>
  authorize?: Authorize<never>
}

function gatewayOptions(
  { authenticate, authorize, cors = [], hosts = [] }: AnyMountOptions,
  config: GatewaySettings,
): Pick<GatewayOptions, 'config' | 'authenticate' | 'authorize'> {
  const { origins, credentials = false } = Array.isArray(cors) ? { origins: cors } : cors
  return {
    config: {
      ...config,
      allowedHosts: [...(config.allowedHosts ?? []), ...hosts],
      allowedOrigins: [...(config.allowedOrigins ?? []), ...origins],
      allowedOriginsMaySendCookies: credentials || (config.allowedOriginsMaySendCookies ?? false),
    },
    ...(authenticate && { authenticate }),
    ...(authorize && { authorize }),
  }
}

/**
 * The web app that is published with this package; in the repository, its build. The path is not made by `new URL(path, import.meta.url)`,
 * which bundlers, such as that of Next.js, understand as the import of a file.
 */
function packedWebApp(): string | undefined {
  return ['../web', '../../../apps/web/dist']
    .map((path) => join(fileURLToPath(import.meta.url), '..', path))
    .find((folder) => existsSync(join(folder, 'index.html')))
}

const logLine = z.looseObject({
  msg: z.string().optional(),
  err: z.looseObject({ message: z.string().optional(), stack: z.string().optional() }).optional(),
})

/** The gateway logs lines of JSON; who embeds it gets the errors of these. */
function errorLog(onError: (error: unknown) => void): Writable {
  return new Writable({
    decodeStrings: false,
    write(line: string | Buffer, _encoding, done) {
      const { msg, err } = logLine.parse(JSON.parse(line.toString()))
      const error = new Error([msg, err?.message].filter(Boolean).join(': '))
      if (err?.stack !== undefined) error.stack = err.stack
      onError(error)
      done()
    },
  })
}

function reportError(error: unknown): void {
  // oxlint-disable-next-line no-console -- the last resort of an embedder that passes no onError
  console.error('askback:', error)
}
