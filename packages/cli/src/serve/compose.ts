import { createDesk, createHost, WEIGHT_BYTES, type Host, type Store } from '@askback/core'
import {
  createCredentials,
  createGateway,
  readLink,
  Metrics,
  newToken,
  type Gateway,
  type McpHandler,
} from '@askback/gateway'
import { sqliteStore } from '@askback/store-sqlite'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { agentAdapters } from '../agents.js'
import { version } from '../version.js'
import { connectorsFor } from './connectors.js'
import type { ServeOptions } from './options.js'
import type { SharedStore } from './shared-store.js'
import { gatewayIdOf, type Tokens } from './tokens.js'
import { escapedLog } from './escaped-log.js'
import { Trouble } from './trouble.js'
import { webAppFolder } from './web-app.js'

export interface Composed {
  gateway: Gateway
  url: string
  /** Logs a browser in, once. */
  openUrl: string
  /** Whether that link works no more. */
  isLinkUsed: () => boolean
  /** A person's, for commands on this machine while this process runs. */
  localToken: string
  /** Agents and deadlines are taken up where the last process left them. */
  ready: Promise<void>
}

const DAY_MS = 24 * 3_600_000

/** Store, desk, agents and gateway, listening. Without a shared store the data is in a file of this process. */
export async function compose(
  options: ServeOptions,
  tokens: Tokens,
  {
    shared = null,
    trouble = new Trouble(),
    sharesTokens = false,
  }: { shared?: SharedStore | null; trouble?: Trouble; sharesTokens?: boolean } = {},
): Promise<Composed> {
  const metrics = new Metrics()
  const store = metrics.timed(
    shared?.store ?? sqliteStore({ path: join(options.dataFolder, 'askback.db'), commitAside: true }),
  )
  try {
    return await composeOn(store, metrics, options, tokens, { shared, trouble, sharesTokens })
  } catch (error) {
    await store.close()
    throw error
  }
}

async function composeOn(
  store: Store,
  metrics: Metrics,
  { config, dataFolder, host: address, port, timeoutMs, secrets, tls, requireProxy }: ServeOptions,
  tokens: Tokens,
  { shared, trouble, sharesTokens }: { shared: SharedStore | null; trouble: Trouble; sharesTokens: boolean },
): Promise<Composed> {
  const { report } = trouble
  const localToken = newToken('askback_local')
  const credentials = await createCredentials({
    store,
    owner: { name: userInfo().username, tokens: [tokens.token, localToken] },
    agentToken: tokens.agentToken,
    loginDays: config.loginDays,
    ...(shared && { bus: shared.bus, gateway: { id: gatewayIdOf(dataFolder), sharesTokens } }),
    onError: report,
  })
  const { pendingPerSession, requestBytes, sessions, memoryMb } = config.limits
  const desk = createDesk({
    store,
    readLink,
    protectedPaths: config.protectedPaths,
    limits: { pendingPerSession, requestBytes, sessions, inMemory: (memoryMb * 1_000_000) / WEIGHT_BYTES },
    onError: report,
    // Looked at often enough that reads are hardly ever older than the time of a lease.
    ...(shared && { maxStaleMs: shared.leases.leaseMs, repairMs: Math.min(5000, shared.leases.leaseMs / 2) }),
    ...(timeoutMs !== undefined && { timeouts: { defaultMs: timeoutMs } }),
    ...(config.retentionDays !== undefined && { retentionMs: config.retentionDays * DAY_MS }),
  })
  let listening: (url: string) => void = () => undefined
  const listens = new Promise<string>((resolve) => (listening = resolve))
  const host = createHost({
    desk,
    // The demo comes first: it is what a session without a named agent gets, and it runs everywhere.
    // Where others take over, none may go on without its gateway: it would work beside the one that they start.
    agents: agentAdapters(config.agents, shared ? undefined : dataFolder),
    onError: report,
    ...(shared && { bus: shared.bus, leases: shared.leases }),
    // Agents that were cut by a restart may start before the port is known.
    env: async (sessionId) => ({
      ASKBACK_URL: await listens,
      ASKBACK_SESSION: sessionId,
      ASKBACK_AGENT_TOKEN: credentials.sessionToken(sessionId),
    }),
  })
  try {
    const connectors = await connectorsFor({ config, secrets, host, store, credentials, onError: report })
    const webApp = webAppFolder()
    const gateway = createGateway({
      host,
      store,
      credentials,
      config,
      metrics,
      version: version(),
      connectors: connectors.list,
      mcp: lazyMcp(host),
      log: escapedLog(process.stderr),
      requireProxy,
      ...(webApp !== undefined && { webApp }),
      ...(tls && { tls }),
    })
    const log = (error: unknown) =>
      gateway.app.log.error({ err: error }, 'Something failed in the background')
    const url = await gateway.listen({ host: address, port })
    listening(url)
    // What fails from here on is tried again: a start that takes long says why.
    trouble.tell(log)
    connectors.start()
    const code = credentials.loginCode(credentials.owner)
    const openUrl = `${url}/login?code=${code}`
    const isLinkUsed = () => credentials.personOfCode(code) === null
    const close = async () => {
      await connectors.stop()
      await gateway.close()
    }
    return { gateway: { ...gateway, close }, url, openUrl, isLinkUsed, localToken, ready: host.ready }
  } catch (error) {
    // Else its timers would keep the process alive.
    await host.close()
    throw error
  }
}

/** The protocol's library is large, and most gateways never hear a word of it. */
function lazyMcp(host: Host): McpHandler {
  let handler: Promise<McpHandler> | undefined
  return async (call) => {
    handler ??= import('@askback/agents/mcp').then(({ createMcpHandler }) =>
      createMcpHandler({ host, version: version() }),
    )
    await (
      await handler
    )(call)
  }
}
