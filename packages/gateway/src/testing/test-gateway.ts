import {
  createDesk,
  createHost,
  memoryStore,
  type AgentAdapter,
  type Clock,
  type Host,
  type InteractionKind,
  type Store,
} from '@askback/core'
import type { Writable } from 'node:stream'
import type { GatewaySettings } from '../config.js'
import { createCredentials, type Credentials } from '../credentials/credentials.js'
import { createGateway, type Gateway, type GatewayOptions } from '../gateway.js'
import { readLink } from '../read-link.js'
import type { McpHandler } from '../routes/mcp.js'

/** The options of `startTestGateway`. */
export interface TestGatewayOptions {
  /**
   * The caller closes it.
   * @default a new store in memory, which `close` closes
   */
  store?: Store
  agents?: AgentAdapter[]
  kinds?: InteractionKind[]
  config?: GatewaySettings
  clock?: Clock
  webApp?: string
  renderers?: GatewayOptions['renderers']
  requireProxy?: boolean
  folders?: boolean
  mcp?: McpHandler
  authenticate?: GatewayOptions['authenticate']
  authorize?: GatewayOptions['authorize']
  decisionMs?: number
  connectors?: GatewayOptions['connectors']
  log?: Writable
  /**
   * The first person's token.
   * @default 'a-person'
   */
  token?: string
  /**
   * Whether to listen at a free port, or the port.
   * @default true
   */
  listen?: boolean | { port: number }
  onError?: (error: unknown) => void
}

/** A gateway for tests, with what it is made of. */
export interface TestGateway {
  gateway: Gateway
  host: Host
  store: Store
  credentials: Credentials
  /** Empty if the gateway does not listen. */
  url: string
  /** The first person's token. */
  token: string
  agentToken: string
  /** Closes the gateway, its host and the store in memory. A store that was passed in stays open. */
  close(): Promise<void>
}

/**
 * Starts a whole gateway in this process. Rejects if it cannot listen.
 *
 * @example
 * const gateway = await startTestGateway()
 * const api = new Api(gateway)
 * const sessionId = await api.session()
 * await gateway.close()
 */
export async function startTestGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const { agents = [], kinds, config = {}, clock, listen = true, webApp } = options
  const store = options.store ?? memoryStore()
  const errors: unknown[] = []
  const onError = options.onError ?? ((error: unknown) => errors.push(error))
  const { token = 'a-person' } = options
  const agentToken = 'outside-agents'
  const withClock = clock && { clock }
  const { pendingPerSession, sessions, requestBytes } = config.limits ?? {}
  const limits = {
    ...(pendingPerSession !== undefined && { pendingPerSession }),
    ...(sessions !== undefined && { sessions }),
    ...(requestBytes !== undefined && { requestBytes }),
  }
  const desk = createDesk({ store, onError, readLink, limits, ...withClock, ...(kinds && { kinds }) })
  const credentials = await createCredentials({
    store,
    owner: { name: 'Ada', tokens: [token] },
    agentToken,
    onError,
    ...withClock,
  })
  let url = ''
  const host = createHost({
    desk,
    agents,
    onError,
    env: async (sessionId) => ({
      ASKBACK_URL: url,
      ASKBACK_SESSION: sessionId,
      ASKBACK_AGENT_TOKEN: credentials.sessionToken(sessionId),
    }),
  })
  const { requireProxy = false, mcp, authenticate, authorize, decisionMs, connectors, log } = options
  const gateway = createGateway({
    host,
    store,
    credentials,
    config,
    requireProxy,
    folders: options.folders ?? false,
    ...withClock,
    ...(webApp && { webApp }),
    ...(options.renderers && { renderers: options.renderers }),
    ...(mcp && { mcp }),
    ...(authenticate && { authenticate }),
    ...(authorize && { authorize }),
    ...(decisionMs !== undefined && { decisionMs }),
    ...(connectors && { connectors }),
    ...(log && { log }),
  })
  if (listen) url = await gateway.listen(typeof listen === 'object' ? listen : {})
  await host.ready
  const close = async () => {
    await gateway.close()
    credentials.close()
    await host.close()
    if (!options.store) await store.close()
  }
  return { gateway, host, store, credentials, url, token, agentToken, close }
}
