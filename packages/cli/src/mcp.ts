import { createAskServer } from '@askback/agents/mcp'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { parseArgs } from 'node:util'
import { parseTimeout, usageError } from './arguments.js'
import { abortOnSignals, askPerson } from './asking/ask-person.js'
import { findAskingSession } from './asking/session.js'
import { ADDRESS_FLAGS } from './reach/connection.js'
import { GatewayClient } from './reach/gateway-client.js'
import { version } from './serve/package-files.js'
import { say } from './terminal.js'

export const MCP_FLAGS = {
  ...ADDRESS_FLAGS,
  session: { type: 'string' },
  timeout: { type: 'string' },
  progress: { type: 'string', default: '10s' },
} as const

/** `askback mcp`: an MCP server on stdin and stdout, whose tools ask a person. Ends when stdin does. */
export async function mcp(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: MCP_FLAGS })
  const { env } = process
  const timeoutMs = values.timeout === undefined ? undefined : parseTimeout(values.timeout)
  const progressMs = parseTimeout(values.progress)
  if (progressMs === null) throw usageError('--progress is a time like 10s.')
  const clientGone = new AbortController()
  const stopped = AbortSignal.any([abortOnSignals(), clientGone.signal])
  const gateway = new GatewayClient('agent', values, { env, say })
  const openCalls = new Set<Promise<unknown>>()

  const createServer = () =>
    createAskServer({
      version: version(),
      progressMs,
      ask(body, { signal, onPending }) {
        const asked = findAskingSession(gateway, values.session, env).then((session) =>
          askPerson(timeoutMs === undefined ? body : { ...body, timeoutMs }, {
            gateway,
            session,
            env,
            source: 'mcp',
            signal: AbortSignal.any([signal, stopped]),
            onPending,
          }),
        )
        openCalls.add(asked)
        return asked.finally(() => openCalls.delete(asked))
      },
    })
  // The client has ended, so nobody waits for its requests any more: they are cancelled.
  process.stdin.once('end', () => clientGone.abort())
  process.stdin.once('close', () => clientGone.abort())
  process.stdout.on('error', () => clientGone.abort())
  const server = serveStdio(createServer)
  await new Promise<void>((resolve) => stopped.addEventListener('abort', () => resolve()))
  await Promise.allSettled(openCalls)
  await server.close()
  return 0
}
