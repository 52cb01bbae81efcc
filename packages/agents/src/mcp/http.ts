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
import { AskbackError, isRecord, type Interaction, type OpenBody, type SessionTags } from '@askback/protocol'
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
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
  checkSession?: ((sessionId: string) => Promise<void>) | undefined
  /** Aborts when the gateway stops or the caller disconnects. Pending requests stay pending. */
  signal: AbortSignal
}

type McpMessage = Record<string, unknown>

/**
 * Handles requests to `/mcp` of a gateway. It rejects if a header is malformed; the caller then has to write the response.
 *
 * @internal
 */
export function createMcpHandler({ host, version }: { host: Host; version: string }) {
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
    try {
      await answer(call, (body, onPending) =>
        ask(host, call, { body, session, cancelled: cancelled.signal, onPending }),
      )
    } finally {
      for (const key of keys) runningCalls.delete(key)
    }
  }

  async function answer(
    { request, response, body, signal }: McpHttpRequest,
    askPerson: (body: OpenBody, onPending: (item: Interaction) => void) => Promise<Interaction>,
  ): Promise<void> {
    const servers: McpServer[] = []
    const handler = createFetchHandler(() => {
      const server = createAskServer({ version, ask: (asked, { onPending }) => askPerson(asked, onPending) })
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

async function ask(
  host: Host,
  { credential, sessionId: named, tags, checkSession, signal }: McpHttpRequest,
  {
    body,
    session,
    cancelled,
    onPending,
  }: {
    body: OpenBody
    session: string
    cancelled: AbortSignal
    onPending: (item: Interaction) => void
  },
): Promise<Interaction> {
  const { id, kind: role } = credential
  const sessionId = named ?? (await clientSession(host, id, session, tags))
  await checkSession?.(sessionId)
  const desk = host.desk.as({ id, role, fence: role === 'agent' ? host.fenceOf(sessionId) : undefined })
  const { interaction } = await desk.open({
    ...body,
    sessionId,
    // In a session of the client's own nobody reports tool calls, so there is none to wait for.
    rendezvous: named !== undefined,
    source: 'mcp',
    claim: true,
  })
  if (interaction.status === 'settled') return interaction
  onPending(interaction)
  const { interactionId } = interaction
  const stopWaiting = AbortSignal.any([cancelled, signal])
  const item = await desk.wait(interactionId, { sessionId, until: stopWaiting })
  await checkSession?.(sessionId)
  if (item.status === 'settled' || !cancelled.aborted) return item
  return (await desk.cancel({ sessionId, interactionId: item.interactionId })).interaction
}

/** Each client has one session, which has its name as the title. */
async function clientSession(
  host: Host,
  credential: string,
  session: string,
  tags: SessionTags | undefined,
): Promise<string> {
  const title = session.includes('.') ? session.slice(0, session.lastIndexOf('.')) : 'MCP'
  const { session: created } = await host.createSession({
    agent: null,
    title,
    source: 'mcp',
    ...(tags && { tags }),
    idempotencyKey: `mcp ${encodeURIComponent(credential)} ${session}`,
  })
  return created.id
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
