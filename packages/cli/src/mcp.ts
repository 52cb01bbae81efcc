import { createAskServer } from '@askback/agents/mcp'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { parseArgs } from 'node:util'
import { askPerson } from './asking/ask-person.js'
import { say } from './output.js'
import { placeToAsk } from './asking/session.js'
import { abortOnSignals } from './asking/signals.js'
import { parseTimeout } from './duration.js'
import { WHERE } from './reach/connection.js'
import { Gateway } from './reach/gateway.js'
import { usageError } from './usage.js'
import { version } from './version.js'

/** `askback mcp`: an MCP server on stdin and stdout, whose tools ask a person. Ends when stdin does. */
export async function mcp(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      ...WHERE,
      session: { type: 'string' },
      timeout: { type: 'string' },
      progress: { type: 'string', default: '10s' },
    },
  })
  const { env } = process
  const timeoutMs = values.timeout === undefined ? undefined : parseTimeout(values.timeout)
  const progressMs = parseTimeout(values.progress)
  if (progressMs === null) throw usageError('--progress is a time like 10s.')
  const ended = new AbortController()
  const gone = AbortSignal.any([abortOnSignals(), ended.signal])
  const gateway = new Gateway('agent', values, { env, say })
  const underWay = new Set<Promise<unknown>>()

  const server = createAskServer({
    version: version(),
    progressMs,
    ask(body, { signal, onPending }) {
      const asked = placeToAsk(gateway, values.session, env).then((place) =>
        askPerson(timeoutMs === undefined ? body : { ...body, timeoutMs }, {
          gateway,
          place,
          env,
          source: 'mcp',
          signal: AbortSignal.any([signal, gone]),
          onPending,
        }),
      )
      underWay.add(asked)
      return asked.finally(() => underWay.delete(asked))
    },
  })
  // Whoever started this has gone: what it asked concerns nobody any more.
  process.stdin.once('end', () => ended.abort())
  process.stdin.once('close', () => ended.abort())
  process.stdout.on('error', () => ended.abort())
  await server.connect(new StdioServerTransport())
  await new Promise<void>((resolve) => gone.addEventListener('abort', () => resolve()))
  await Promise.allSettled(underWay)
  await server.close()
  return 0
}
