import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { Host } from '@askback/core'
import { AskbackError, type Interaction, type OpenBody } from '@askback/protocol'
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createAskServer } from './server.js'

/** One request to `/mcp`, of somebody who may make it. */
export interface McpCall {
  request: IncomingMessage
  response: ServerResponse
  body: unknown
  credential: { kind: 'agent' | 'person'; id: string }
  /** The session to ask in, if it is named or the credential is for just one. */
  sessionId?: string | undefined
  /** The gateway is about to go, or the caller is gone: what waits stays pending. */
  signal: AbortSignal
}

type Message = { method?: unknown; id?: unknown; params?: Record<string, unknown> }

/**
 * Streamable HTTP. Nothing is kept between requests but which calls are under way, so that clients go on after a restart;
 * the id of an MCP session only says whose requests belong together.
 */
export function createMcpHandler({ host, version }: { host: Host; version: string }) {
  const underWay = new Map<string, AbortController>()

  return async function handle(call: McpCall): Promise<void> {
    const messages = (Array.isArray(call.body) ? call.body : [call.body]) as Message[]
    const initialize = messages.find(({ method }) => method === 'initialize')
    const session = initialize ? newSession(initialize) : headerOf(call.request, 'mcp-session-id')
    if (initialize) call.response.setHeader('mcp-session-id', session)
    for (const { method, params } of messages) {
      if (method === 'notifications/cancelled')
        underWay.get(keyOf(call, session, params?.['requestId']))?.abort()
    }
    const cancelled = new AbortController()
    const keys = messages
      .filter(({ method }) => method === 'tools/call')
      .map(({ id }) => keyOf(call, session, id))
    for (const key of keys) underWay.set(key, cancelled)
    try {
      await answer(call, (body, onPending) =>
        ask(host, call, { body, session, cancelled: cancelled.signal, onPending }),
      )
    } finally {
      for (const key of keys) underWay.delete(key)
    }
  }

  async function answer(
    { request, response, body, signal }: McpCall,
    askHere: (body: OpenBody, onPending: (item: Interaction) => void) => Promise<Interaction>,
  ): Promise<void> {
    const server = createAskServer({ version, ask: (asked, { onPending }) => askHere(asked, onPending) })
    // Stateless: one for each request.
    const transport = new StreamableHTTPServerTransport()
    const closed = new Promise<void>((resolve) => response.once('close', resolve))
    // Through the transport: a response that ended under it would be written to once more.
    const end = () => void server.close().catch(() => response.destroy())
    signal.addEventListener('abort', end)
    response.on('error', () => response.destroy())
    await server.connect(transport)
    await transport.handleRequest(request, response, body)
    await closed
    await server.close()
  }
}

async function ask(
  host: Host,
  { credential, sessionId: named, signal }: McpCall,
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
  const { desk } = host
  const { id } = credential
  const sessionId = named ?? (await ownSession(host, id, session))
  const fence = credential.kind === 'agent' ? host.fenceOf(sessionId) : undefined
  const { interaction } = await desk.open({
    ...body,
    sessionId,
    // Nobody reports tool calls in a session of the client's own, so there is none to wait for.
    rendezvous: named !== undefined,
    role: credential.kind,
    openedBy: id,
    source: 'mcp',
    claimAs: id,
    ...(fence && { fence }),
  })
  if (interaction.status === 'settled') return interaction
  onPending(interaction)
  const { interactionId } = interaction
  const ended = AbortSignal.any([cancelled, signal])
  const item = await desk.poll(sessionId, interactionId, { to: id, signal: ended, fence })
  if (item.status === 'settled' || !cancelled.aborted) return item
  return (await desk.cancel({ sessionId, interactionId: item.interactionId })).interaction
}

/** One for each client, named after it. */
async function ownSession(host: Host, credential: string, session: string): Promise<string> {
  const title = session.includes('.') ? session.slice(0, session.lastIndexOf('.')) : 'MCP'
  const { session: made } = await host.createSession({
    agent: null,
    title,
    source: 'mcp',
    idempotencyKey: `mcp ${encodeURIComponent(credential)} ${session}`,
  })
  return made.id
}

/** Carries the client's name, so that it is known whichever process gets the next request. */
function newSession({ params }: Message): string {
  const { name } = (params?.['clientInfo'] ?? {}) as { name?: unknown }
  const plain = typeof name === 'string' ? name.replaceAll(/[^\w-]+/g, '-').slice(0, 50) : ''
  return `${plain || 'MCP'}.${randomUUID()}`
}

function keyOf({ credential }: McpCall, session: string, id: unknown): string {
  return JSON.stringify([credential.id, session, id])
}

function headerOf({ headers }: IncomingMessage, name: string): string {
  const value = headers[name]
  if (value === undefined) return ''
  if (typeof value === 'string' && /^[\w.-]{1,200}$/.test(value)) return value
  throw new AskbackError('invalid_request', `The header ${name} is not one that this gateway has given.`)
}
