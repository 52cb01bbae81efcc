import type { GatewayContext } from './context.js'
import type { Route } from './route.js'
import { adoptRoutes } from './routes/adopt.js'
import { auditRoutes } from './routes/audit.js'
import { backupRoutes } from './routes/backup.js'
import { connectorRoutes } from './routes/connectors.js'
import { healthRoutes } from './routes/health.js'
import { interactionRoutes } from './routes/interactions.js'
import { loginRoutes } from './routes/login.js'
import { mcpRoutes, type McpHandler } from './routes/mcp.js'
import { messageRoutes } from './routes/messages.js'
import { metricsRoutes } from './routes/metrics.js'
import { withOpenApi } from './routes/openapi.js'
import { ruleRoutes } from './routes/rules.js'
import { sessionRoutes } from './routes/sessions.js'
import { streamRoutes } from './routes/streams.js'
import { tokenRoutes } from './routes/tokens.js'
import { toolCallRoutes } from './routes/tool-calls.js'

/** Every route there is: what the framework serves and what the document describes are made from this. */
export function routeTable(
  context: GatewayContext,
  { version, mcp }: { version: string; mcp: McpHandler | undefined },
): Route[] {
  const routes = [
    ...sessionRoutes(context),
    ...adoptRoutes(context),
    ...streamRoutes,
    ...messageRoutes(context),
    ...toolCallRoutes(context),
    ...interactionRoutes(context),
    ...ruleRoutes(context),
    ...auditRoutes(context),
    ...backupRoutes(context),
    ...tokenRoutes(context),
    ...connectorRoutes(context),
    ...metricsRoutes(context),
    ...loginRoutes(context),
    ...healthRoutes(context),
    ...mcpRoutes(context, mcp),
  ]
  return withOpenApi(routes, version)
}
