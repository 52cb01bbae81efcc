import type { FastifyInstance } from 'fastify'
import type { GatewayContext } from '../route.js'
import { allowedOrigins } from './origin.js'
import { SECURITY_HEADERS } from './responses.js'
import { noRoute } from './web-app.js'

/** Headers that a page may read in addition to those that browsers always expose. */
const EXPOSED = 'Retry-After, Mcp-Session-Id'

const PREFLIGHT = {
  ...SECURITY_HEADERS,
  'access-control-allow-methods': 'GET, POST, DELETE',
  'access-control-allow-headers': [
    'Authorization',
    'Content-Type',
    'Idempotency-Key',
    'Last-Event-ID',
    'Askback-Surface',
    'Askback-Tool-Call',
    'Askback-Agent-Thread',
    'Askback-Source',
    'Mcp-Session-Id',
    'Mcp-Protocol-Version',
  ].join(', '),
  'access-control-max-age': '600',
}

/**
 * CORS for the API, for the origins that the operator allows. Their pages must send a token: `Allow-Credentials` is not sent, so
 * that browsers add no cookie, unless an embedder wants that for a login of its own.
 */
export function serveCors(app: FastifyInstance, { config, admit }: GatewayContext): void {
  const allowed = allowedOrigins(config.allowedOrigins)
  if (allowed.size > 0) {
    // On the raw response, because `sendResponse` bypasses the framework.
    app.addHook('onRequest', ({ headers: { origin }, url }, reply, done) => {
      if (origin !== undefined && allowed.has(origin) && isApi(url)) {
        reply.raw.setHeader('access-control-allow-origin', origin)
        reply.raw.setHeader('access-control-expose-headers', EXPOSED)
        reply.raw.setHeader('vary', 'Origin')
        if (config.allowedOriginsMaySendCookies)
          reply.raw.setHeader('access-control-allow-credentials', 'true')
      }
      done()
    })
  }
  for (const url of ['/api/*', '/mcp']) {
    app.options(url, (request, reply) => {
      const { headers, page } = admit(request.raw)
      if (page !== 'allowed') throw noRoute('OPTIONS', request.url.split('?', 1)[0]!)
      // Browsers send this if a public page calls an address of the local network.
      const isPrivate = headers['access-control-request-private-network'] === 'true'
      return reply
        .code(204)
        .headers({ ...PREFLIGHT, ...(isPrivate && { 'access-control-allow-private-network': 'true' }) })
        .send()
    })
  }
}

function isApi(url: string): boolean {
  return url.startsWith('/api/') || url === '/mcp' || url.startsWith('/mcp?')
}
