import { json, type SessionTags } from '@askback/protocol'
import type { IncomingMessage, ServerResponse } from 'node:http'
import * as z from 'zod'
import { newTags } from '../access/authorizer.js'
import type { Credential } from '../credentials/credential.js'
import { SECURITY_HEADERS } from '../http/responses.js'
import { type GatewayContext, route, type ApiRoute } from '../route.js'

const MAX_WAIT_SECONDS = 3600

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
  /** The tags of a session that the handler creates for this caller. */
  tags?: SessionTags | undefined
  /** Rejects unless the caller may ask in this session: called before it is used, and before an answer is returned. */
  checkSession: (sessionId: string) => Promise<void>
  /** A secret of this credential, the same on all gateways of a store, to sign what the client sends back. */
  stateKey: string
  /** How long a call may wait for a person, in milliseconds, if the request says so. */
  waitMs?: number | undefined
  /** Aborts when the gateway drains, the caller disconnects, or its credential is revoked. */
  signal: AbortSignal
}) => Promise<void>

const refused = z.object({ error: z.object({ code: z.string(), message: z.string() }) })

/** MCP over streamable HTTP, with the same credentials as all routes. Agents have tools to ask, and none to answer. */
export function mcpRoutes(
  { access, credentials, drain }: GatewayContext,
  mcp: McpHandler | undefined,
): ApiRoute[] {
  if (!mcp) return []
  return [
    route({
      name: 'callMcp',
      method: 'POST',
      path: '/mcp',
      allowed: 'any_agent',
      action: 'checked',
      summary:
        'Model Context Protocol: tools that ask a person in the session that `session` names; a call waits `wait` seconds for the answer',
      query: z.object({
        session: z.string().min(1).optional(),
        wait: z.coerce.number().positive().max(MAX_WAIT_SECONDS).optional(),
      }),
      body: json,
      responses: { 200: { description: 'A stream of JSON-RPC responses', types: ['text/event-stream'] } },
      errors: [404],
      async handle({ query, body, credential, access: rights, request, reply }) {
        const sessionId = query.session ?? (credential.kind === 'agent' ? credential.sessionId : null)
        const tags = newTags(credential, undefined)
        const checkSession = async (id: string) => {
          await access.check('agent', credential, id)
          await rights?.check(id, 'ask')
        }
        if (sessionId !== null) await checkSession(sessionId)
        else await rights?.checkCreate({ agent: null, ...(tags && { tags }) })
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
          await mcp({
            request: request.raw,
            response,
            body,
            credential,
            ...named,
            ...(tags && { tags }),
            checkSession,
            stateKey: credentials.stateKey(credential.id),
            ...(query.wait !== undefined && { waitMs: query.wait * 1000 }),
            signal: ended.signal,
          })
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
        action: 'harmless',
        summary:
          'Not supported: this MCP server is stateless, so there is no stream to open and no session to end',
        responses: { 405: refused },
        handle: () => ({
          status: 405,
          body: { error: { code: 'invalid_request', message: 'This speaks MCP by POST only.' } },
        }),
      }),
    ),
  ]
}
