import {
  createDesk,
  createHost,
  describeKind,
  Leases,
  storeOnBus,
  type Bus,
  type Host,
  type Store,
} from '@askback/core'
import { WEIGHT_BYTES } from '@askback/core/internal'
import {
  createCredentials,
  createGateway,
  readLink,
  Metrics,
  createSecret,
  type Gateway,
  type McpHandler,
  type GatewayConfig,
} from '@askback/gateway'
import { sqliteStore } from '@askback/store-sqlite'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { agentAdapters } from '../config.js'
import { escapeHidden } from '../terminal.js'
import { BackgroundErrors } from './background-errors.js'
import { createConnectors } from './connectors.js'
import type { ServeOptions, StoreAddress } from './options.js'
import { version, webAppFolder } from './package-files.js'
import { gatewayIdOf, type Tokens } from './tokens.js'

/** A gateway that listens, with everything behind it. */
export interface ComposedGateway {
  gateway: Gateway
  url: string
  /** A link that signs a browser in, once. */
  openUrl: string
  /** Whether that link was used or has expired. */
  isLinkUsed: () => boolean
  /** The owner's token for commands on this machine. It is valid while this process runs. */
  localToken: string
  /** Resolves when agents and deadlines of the last process are resumed. */
  ready: Promise<void>
}

/** A store that several gateways share, and what they need to work together. */
export interface SharedStore {
  store: Store
  bus: Bus
  leases: Leases
}

const DAY_MS = 24 * 3_600_000

/** Creates store, desk, agents, connectors and gateway, and listens. Without a shared store the data is in a file. */
export async function compose(
  options: ServeOptions,
  tokens: Tokens,
  {
    shared = null,
    errors = new BackgroundErrors(),
    sharesTokens = false,
  }: { shared?: SharedStore | null; errors?: BackgroundErrors; sharesTokens?: boolean } = {},
): Promise<ComposedGateway> {
  const metrics = new Metrics()
  const store = metrics.measureAppends(
    shared?.store ?? sqliteStore({ path: join(options.dataFolder, 'askback.db'), commitInThread: true }),
  )
  try {
    return await composeOn(store, metrics, options, tokens, { shared, errors, sharesTokens })
  } catch (error) {
    await store.close()
    throw error
  }
}

async function composeOn(
  store: Store,
  metrics: Metrics,
  {
    config,
    kinds,
    renderers,
    dataFolder,
    host: address,
    port,
    timeoutMs,
    secrets,
    tls,
    requireProxy,
  }: ServeOptions,
  tokens: Tokens,
  {
    shared,
    errors,
    sharesTokens,
  }: { shared: SharedStore | null; errors: BackgroundErrors; sharesTokens: boolean },
): Promise<ComposedGateway> {
  const { report } = errors
  const localToken = createSecret('askback_local')
  const credentials = await createCredentials({
    store,
    owner: { name: userInfo().username, tokens: [tokens.token, localToken] },
    agentToken: tokens.agentToken,
    loginDays: config.loginDays,
    ...(shared && { bus: shared.bus, gateway: { id: gatewayIdOf(dataFolder), sharesTokens } }),
    onError: report,
  })
  const { pendingPerSession, requestBytes, sessions, memoryMb } = config.limits
  const { idleMinutes } = config.agents
  const desk = createDesk({
    store,
    readLink,
    kinds,
    protectedPaths: config.protectedPaths,
    limits: { pendingPerSession, requestBytes, sessions, inMemory: (memoryMb * 1_000_000) / WEIGHT_BYTES },
    onError: report,
    // Polls often enough that the state is hardly ever older than a lease.
    ...(shared && { maxStaleMs: shared.leases.leaseMs, repairMs: Math.min(5000, shared.leases.leaseMs / 2) }),
    ...(timeoutMs !== undefined && { timeouts: { defaultMs: timeoutMs } }),
    ...(config.retentionDays !== undefined && { retentionMs: config.retentionDays * DAY_MS }),
  })
  let resolveUrl: (url: string) => void = () => undefined
  const listeningUrl = new Promise<string>((resolve) => (resolveUrl = resolve))
  const host = createHost({
    desk,
    // With a shared store another gateway takes over lost sessions, so no agent may continue without its own gateway.
    agents: agentAdapters(config.agents, kinds, shared ? undefined : dataFolder),
    freeAfterMs: idleMinutes === null ? null : idleMinutes * 60_000,
    onError: report,
    ...(shared && { bus: shared.bus, leases: shared.leases }),
    // Agents of interrupted sessions may start before the port is known.
    env: async (sessionId) => ({
      ASKBACK_URL: await listeningUrl,
      ASKBACK_SESSION: sessionId,
      ASKBACK_AGENT_TOKEN: credentials.sessionToken(sessionId),
    }),
  })
  try {
    const connectors = await createConnectors({ config, secrets, host, store, credentials, onError: report })
    const webApp = webAppFolder()
    const gateway = createGateway({
      host,
      store,
      credentials,
      config,
      metrics,
      version: version(),
      connectors: connectors.list,
      mcp: lazyMcp(host, config.mcp),
      log: escapedLog(process.stderr),
      requireProxy,
      folders: true,
      ...(webApp !== undefined && { webApp }),
      renderers,
      ...(tls && { tls }),
    })
    const { log } = gateway.app
    const url = await gateway.listen({ host: address, port })
    resolveUrl(url)
    // From here on failures are retried, and the log says why a start takes long.
    errors.sendTo({
      failed: (error) => log.error({ err: error }, 'Something failed in the background'),
      recovered: ({ failures, ms }) =>
        log.warn(
          `The store is reachable again, after ${Math.ceil(ms / 1000)} s in which ${failures} more attempts failed.`,
        ),
    })
    for (const kind of kinds) for (const problem of describeKind(kind).problems) log.warn(problem)
    connectors.start()
    const code = credentials.createLoginCode(credentials.owner)
    const openUrl = `${url}/login?code=${code}`
    const isLinkUsed = () => credentials.personOfCode(code) === null
    const close = async () => {
      errors.close()
      await connectors.stop()
      await gateway.close()
      credentials.close()
      // Agents write to the store until the host is closed.
      await host.close()
      await store.close()
    }
    return { gateway: { ...gateway, close }, url, openUrl, isLinkUsed, localToken, ready: host.ready }
  } catch (error) {
    // Their timers would keep the process alive.
    credentials.close()
    await host.close()
    throw error
  }
}

/** Loads the library of MCP at the first call: it is large, and most gateways never need it. */
function lazyMcp(host: Host, { elicitation }: GatewayConfig['mcp']): McpHandler {
  let handler: Promise<McpHandler> | undefined
  return async (call) => {
    handler ??= import('@askback/agents/mcp').then(({ createMcpHandler }) =>
      createMcpHandler({ host, version: version(), elicitation }),
    )
    await (
      await handler
    )(call)
  }
}

/** Opens a PostgreSQL database. Its library is loaded here, since most gateways keep their data in a file. */
export async function openSharedStore(
  { url, listenUrl, leaseMs }: StoreAddress,
  onError: (error: unknown) => void,
): Promise<SharedStore> {
  const { postgresBus, postgresStore } = await import('@askback/store-postgres')
  const base = await postgresStore({ url })
  try {
    const bus = await postgresBus({ url, onError, ...(listenUrl !== undefined && { listenUrl }) })
    const store = storeOnBus(base, bus)
    const leases = new Leases({ store, bus, onError, ...(leaseMs !== undefined && { leaseMs }) })
    const close = async () => {
      await bus.close()
      await base.close()
    }
    return { store: { ...store, close }, bus, leases }
  } catch (error) {
    await base.close()
    throw error
  }
}

/**
 * Escapes characters in the JSON lines of the log that a terminal would act on or hide. The lines quote agents, and JSON itself
 * does not escape all of them: U+009B, for instance, begins a control sequence.
 */
export function escapedLog(output: Pick<NodeJS.WritableStream, 'write'>): Writable {
  return new Writable({
    decodeStrings: false,
    write(line: string | Buffer, _encoding, done) {
      output.write(escapeHidden(String(line)))
      done()
    },
  })
}
