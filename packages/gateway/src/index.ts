export type {
  AccessRequest,
  AccessSession,
  Authenticate,
  AuthenticatedActor,
  Authorize,
  SessionAction,
} from './access/embedder.js'
export { createAskback, type EmbeddedAskback, type AskbackOptions, type MountOptions } from './askback.js'
export { gatewayConfig, type GatewayConfig, type GatewaySettings } from './config.js'
export { createCredentials, type Credentials } from './credentials/credentials.js'
export { registerGatewayTokens } from './credentials/credential-refresh.js'
export { createSecret } from './credentials/credential.js'
export { createGateway, type Gateway, type GatewayOptions } from './gateway.js'
export { readLink } from './read-link.js'
export { Metrics } from './metrics.js'
export type { GatewayConnector, ConnectorPairing } from './routes/connectors.js'
export type { McpHandler } from './routes/mcp.js'
export type { ExpressHandler } from './mount/express.js'
export type { FastifyPlugin } from './mount/fastify.js'
export type { FetchHandler, FetchHandlers } from './mount/fetch.js'
export type { Mount } from './mount/mount.js'
