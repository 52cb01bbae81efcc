import type { FastifyInstance } from 'fastify'
import type { IncomingMessage } from 'node:http'
import type { GatewayContext } from './context.js'
import { actorOf, authenticate } from './http/authenticate.js'
import type { Caller } from './streams/options.js'
import { registerStreams, type Streams } from './streams/register.js'

/** Puts the streams behind the same checks as everything else. */
export function serveStreams(app: FastifyInstance, context: GatewayContext): Streams {
  const { host, store, config, clock, metrics, credentials } = context
  const { sockets, streams: most, bodyBytes, jsonDepth } = config.limits
  const streams = registerStreams(app, {
    host,
    store,
    clock,
    config: { sockets, streams: most, frameBytes: bodyBytes, jsonDepth },
    authorize: (request) => authorize(request, context),
    onError: (error) => app.log.error({ err: error }, 'A stream failed'),
  })
  credentials.onRevoked((id) => streams.revoke(id))
  metrics.countStreams(() => streams.open)
  return streams
}

async function authorize(request: IncomingMessage, context: GatewayContext): Promise<Caller> {
  const { headers, method = 'GET', socket } = request
  context.checkOrigin(method, headers, headers.upgrade !== undefined)
  const credential = authenticate(headers, socket.remoteAddress ?? '', context)
  context.rateLimit?.count(credential.id)
  const { by, via } = actorOf(credential, headers)
  return {
    credential: credential.id,
    person: by ? { by, via } : null,
    mayRead: (sessionId) => context.access.mayRead(credential, sessionId),
  }
}
