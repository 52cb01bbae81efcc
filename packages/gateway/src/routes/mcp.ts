import { json } from '@askback/protocol'
import type { IncomingMessage, ServerResponse } from 'node:http'
import * as z from 'zod'
import type { Credential } from '../credentials/credential.js'
import { SECURITY_HEADERS } from '../http/responses.js'
import { type GatewayContext, route, type ApiRoute } from '../route.js'

/**
 * Handles one MCP request, which is authorized and whose body is parsed. Resolves when the response is sent; `createMcpHandler` of
 * `@askback/agents/mcp` creates one.
 */
export type McpHandler = (call: {
  request: IncomingMessage
  response: ServerResponse
  body: unknown
  credential: Credential
  /** The session to ask in, if the request names one or the credential is for a single session. */
  sessionId?: string | undefined
  /** Aborts when the gateway drains, the caller disconnects, or its credential is revoked. */
  signal: AbortSignal
}) => Promise<void>

/** MCP over streamable HTTP, with the same credentials as all routes. Agents have tools to ask, and none to answer. */
export function mcpRoutes(
  { access, credentials, drain }: GatewayContext,
  mcp: McpHandler | undefined,
): ApiRoute[] {
  if (!mcp) return []
  return [
    route({
      name: 'mcp',
      method: 'POST',
      path: '/mcp',
      allowed: 'any_agent',
      summary: 'Model Context Protocol: tools that ask a person in the session that `session` names',
      query: z.object({ session: z.string().min(1).optional() }),
      body: json,
      responses: { 200: { description: 'A stream of JSON-RPC responses', type: 'text/event-stream' } },
      errors: [404],
      async handle({ query, body, credential, request, reply }) {
        const sessionId = query.session ?? (credential.kind === 'agent' ? credential.sessionId : null)
        if (sessionId !== null) await access.check('agent', credential, sessionId)
        const ended = new AbortController()
        const off = drain.onStart(() => ended.abort())
        const offRevoked = credentials.onRevoked((key) => {
          if (key === credential.key) ended.abort()
        })
        const { raw: response } = reply
        response.once('close', () => ended.abort())
        reply.hijack()
        for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value)
        try {
          const named = sessionId === null ? {} : { sessionId }
          await mcp({ request: request.raw, response, body, credential, ...named, signal: ended.signal })
        } finally {
          off()
          offRevoked()
        }
        return { handled: true }
      },
    }),
    ...(['GET', 'DELETE'] as const).map((method) =>
      route({
        name: `${method.toLowerCase()}Mcp`,
        method,
        path: '/mcp',
        allowed: 'any_agent',
        summary:
          'Not supported: this MCP server is stateless, so there is no stream to open and no session to end',
        responses: { 405: z.object({ error: z.object({ code: z.string(), message: z.string() }) }) },
        handle: () => ({
          status: 405,
          body: { error: { code: 'invalid_request', message: 'This speaks MCP by POST only.' } },
        }),
      }),
    ),
  ]
}
