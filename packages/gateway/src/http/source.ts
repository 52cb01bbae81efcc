import { AskbackError, requestSource, type RequestSource } from '@askback/protocol'
import type { IncomingHttpHeaders } from 'node:http'

/** How a request came: our own command line, MCP server and hooks name themselves in a header. */
export function sourceIn(headers: IncomingHttpHeaders): RequestSource {
  const named = headers['askback-source']
  if (named === undefined) return 'http'
  const parsed = requestSource.safeParse(named)
  if (parsed.success) return parsed.data
  throw new AskbackError('invalid_request', `Askback-Source is one of ${requestSource.options.join(', ')}.`)
}
