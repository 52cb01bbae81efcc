/**
 * The MCP server of a gateway, over Streamable HTTP, for clients of the specification of 2026-07-28 and of those before. Nothing is stored
 * between requests except which calls are running, so clients continue after a restart of the gateway. The id of an MCP session only
 * says which requests belong together; it contains the client's name. Newer clients have no session, but send their name.
 */
import {
  CLIENT_INFO_META_KEY,
  createMcpHandler as createFetchHandler,
  type McpServer,
} from '@modelcontextprotocol/server'
import type { Host } from '@askback/core'
import { AskbackError, isRecord, type SessionTags } from '@askback/protocol'
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { DeskRequests } from './desk-requests.js'
import { createAskServer } from './server.js'

/**
 * An authenticated request to `/mcp`.
 * @internal
 */
export interface McpHttpRequest {
  request: IncomingMessage
  response: ServerResponse
  body: unknown
  credential: { kind: 'agent' | 'person'; id: string }
  /** The session to ask in, if the request names one or the credential is valid for only one. */
  sessionId?: string | undefined
  /** The tags of a session that is created for this client. */
  tags?: SessionTags | undefined
  /** Rejects if the caller may not ask in this session. */
  checkSession: (sessionId: string) => Promise<void>
  /** Signs the state that clients send back. It differs for each credential, so nobody can use the state of others. */
  stateKey: string
  /** How long a call waits for a person, in milliseconds. */
  waitMs?: number | undefined
  /** Aborts when the gateway stops or the caller disconnects. Pending requests stay pending. */
  signal: AbortSignal
}

type McpMessage = Record<string, unknown>

/**
 * Handles requests to `/mcp` of a gateway. It rejects if a header is malformed; the caller then has to write the response.
 *
 * @internal
 */
export function createMcpHandler({
  host,
  version,
  elicitation = false,
}: {
  host: Host
  version: string
  /** Whether clients that can show forms may answer questions in the name of their user. */
  elicitation?: boolean
}) {
  /** Aborted when the client cancels the call. */
  const runningCalls = new Map<string, AbortController>()

  return async function handle(call: McpHttpRequest): Promise<void> {
    const messages: McpMessage[] = (Array.isArray(call.body) ? call.body : [call.body]).filter(isRecord)
    const initialize = messages.find(({ method }) => method === 'initialize')
    const session = initialize ? newSessionId(initialize) : sessionOf(call.request, messages)
    if (initialize) call.response.setHeader('mcp-session-id', session)
    for (const { method, params } of messages) {
      if (method === 'notifications/cancelled' && isRecord(params))
        runningCalls.get(callKey(call, session, params['requestId']))?.abort()
    }
    const cancelled = new AbortController()
    const keys = messages
      .filter(({ method }) => method === 'tools/call')
      .map(({ id }) => callKey(call, session, id))
    for (const key of keys) runningCalls.set(key, cancelled)
    const clientName = session.includes('.') ? session.slice(0, session.lastIndexOf('.')) : 'MCP'
    const requests = new DeskRequests({
      host,
      credential: call.credential,
      sessionId: call.sessionId,
      mcpSession: session,
      clientName,
      tags: call.tags,
      checkSession: call.checkSession,
      cancelled: cancelled.signal,
      ended: call.signal,
      takesAnswers: elicitation,
    })
    const { stateKey, waitMs } = call
    try {
      const kinds = () => host.desk.customKinds()
      await answer(call, () => createAskServer({ version, requests, kinds, clientName, stateKey, waitMs }))
    } finally {
      for (const key of keys) runningCalls.delete(key)
    }
  }
}

async function answer(
  { request, response, body, signal }: McpHttpRequest,
  createServer: () => McpServer,
): Promise<void> {
  const servers: McpServer[] = []
  const handler = createFetchHandler(() => {
    const server = createServer()
    servers.push(server)
    return server
  })
  const close = async () => {
    await Promise.all([handler.close(), ...servers.map((server) => server.close())])
  }
  const closeOnAbort = () => void close().catch(() => response.destroy())
  signal.addEventListener('abort', closeOnAbort)
  try {
    const reply = await handler.fetch(requestOf(request, signal), { parsedBody: body })
    await sendReply(reply, response)
  } finally {
    signal.removeEventListener('abort', closeOnAbort)
    await close()
  }
}

/** The request as `fetch` handlers read it, without its body, which is parsed already. */
function requestOf(
  { headers, url = '/mcp', method = 'POST' }: IncomingMessage,
  signal: AbortSignal,
): Request {
  const pairs = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  )
  return new Request(new URL(url, 'http://localhost'), { method, headers: pairs, signal })
}

/** Resolves when everything is sent, or the client has disconnected. */
async function sendReply({ status, headers, body }: Response, response: ServerResponse): Promise<void> {
  response.on('error', () => response.destroy())
  response.writeHead(status, Object.fromEntries(headers))
  if (!body) {
    response.end()
    return
  }
  const reader = body.getReader()
  // The call is cancelled if nobody reads its result.
  response.once('close', () => void reader.cancel().catch(() => undefined))
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    if (!response.write(value))
      await new Promise((resolve) => response.once('drain', resolve).once('close', resolve))
  }
  response.end()
}

/** Contains the client's name, because another process may get the next request. */
function newSessionId({ params }: McpMessage): string {
  return `${plainNameOf(isRecord(params) ? params['clientInfo'] : undefined)}.${randomUUID()}`
}

/** The id that an older client got at its start. Newer clients send their name with each request instead. */
function sessionOf(request: IncomingMessage, messages: McpMessage[]): string {
  const given = headerOf(request, 'mcp-session-id')
  if (given !== '') return given
  const params = messages[0]?.params
  const meta = isRecord(params) ? params['_meta'] : undefined
  const client = isRecord(meta) ? meta[CLIENT_INFO_META_KEY] : undefined
  return client === undefined ? '' : `${plainNameOf(client)}.`
}

function plainNameOf(client: unknown): string {
  const name = isRecord(client) ? client['name'] : undefined
  const plainName = typeof name === 'string' ? name.replaceAll(/[^\w-]+/g, '-').slice(0, 50) : ''
  return plainName || 'MCP'
}

function callKey({ credential }: McpHttpRequest, session: string, id: unknown): string {
  return JSON.stringify([credential.id, session, id])
}

function headerOf({ headers }: IncomingMessage, name: string): string {
  const value = headers[name]
  if (value === undefined) return ''
  if (typeof value === 'string' && /^[\w.-]{1,200}$/.test(value)) return value
  throw new AskbackError('invalid_request', `The header ${name} is not one that this gateway has given.`)
}
