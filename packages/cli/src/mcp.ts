import { createAskServer } from '@askback/agents/mcp'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import type { KindDescription } from '@askback/protocol'
import { createHash } from 'node:crypto'
import { parseArgs } from 'node:util'
import { parseTimeout, usageError } from './arguments.js'
import { abortOnSignals } from './asking/ask-person.js'
import { GatewayRequests } from './asking/gateway-requests.js'
import { ADDRESS_FLAGS } from './reach/connection.js'
import { GatewayClient } from './reach/gateway-client.js'
import { version } from './serve/package-files.js'
import { say } from './terminal.js'

export const MCP_FLAGS = {
  ...ADDRESS_FLAGS,
  session: { type: 'string' },
  timeout: { type: 'string' },
  wait: { type: 'string' },
  progress: { type: 'string', default: '10s' },
} as const

/** How long a client waits for its list of tools, in milliseconds. */
const LIST_KINDS_MS = 3000

/** `askback mcp`: an MCP server on stdin and stdout, whose tools ask a person. Ends when stdin does. */
export async function mcp(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: MCP_FLAGS })
  const { env } = process
  const waitMs = values.wait === undefined ? undefined : parseTimeout(values.wait, '--wait')
  const progressMs = parseTimeout(values.progress, '--progress')
  if (progressMs === null) throw usageError('--progress is a time like 10s.')
  const clientGone = new AbortController()
  const stopped = AbortSignal.any([abortOnSignals(), clientGone.signal])
  const gateway = new GatewayClient('agent', values, { env, say })
  const requests = new GatewayRequests({
    gateway,
    session: values.session,
    env,
    timeoutMs: values.timeout === undefined ? undefined : parseTimeout(values.timeout),
    stopped,
  })

  const createServer = () =>
    createAskServer({
      version: version(),
      requests,
      kinds: () => customKinds(gateway),
      waitMs,
      progressMs,
      stateKey: stateKeyOf(gateway),
    })
  // The client has ended, so nobody waits for the calls that are running: their requests are cancelled.
  process.stdin.once('end', () => clientGone.abort())
  process.stdin.once('close', () => clientGone.abort())
  process.stdout.on('error', () => clientGone.abort())
  const server = serveStdio(createServer)
  await new Promise<void>((resolve) => stopped.addEventListener('abort', () => resolve()))
  await requests.finished()
  await server.close()
  return 0
}

/** The same in each process with the same token, so that a client can continue after a restart of this one. */
function stateKeyOf(gateway: GatewayClient): string | undefined {
  const token = gateway.token
  return token === undefined ? undefined : createHash('sha256').update(`mcp state ${token}`).digest('hex')
}

/** None if the gateway is away: clients list the tools when they start, and the others must be there. */
async function customKinds(gateway: GatewayClient): Promise<KindDescription[]> {
  try {
    const signal = AbortSignal.timeout(LIST_KINDS_MS)
    const { kinds } = await gateway.json<{ kinds: KindDescription[] }>({
      method: 'GET',
      path: '/api/kinds',
      signal,
    })
    return kinds
  } catch {
    return []
  }
}
