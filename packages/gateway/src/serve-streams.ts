import type { FastifyInstance } from 'fastify'
import type { Credential } from './credentials/credential.js'
import type { RequestSender } from './http/admission.js'
import { authenticate, checkNotRevoked, identify } from './http/authenticate.js'
import type { GatewayContext } from './route.js'
import {
  type StreamCaller,
  type SocketCaller,
  registerStreams,
  type GatewayStreams,
} from './streams/register.js'

/**
 * Serves the streams behind the same checks as every other route. `stop` ends the subscription to revoked credentials, which may
 * outlive this gateway.
 */
export function serveStreams(
  app: FastifyInstance,
  context: GatewayContext,
): { streams: GatewayStreams; stop: () => void } {
  const { host, store, config, clock, metrics, credentials } = context
  const { sockets, streams: maxStreams, bodyBytes, jsonDepth } = config.limits
  const streams = registerStreams(app, {
    host,
    store,
    clock,
    config: { sockets, streams: maxStreams, frameBytes: bodyBytes, jsonDepth },
    authorize: async (request) => {
      const sender = context.admit(request)
      return callerOf(authenticate(sender, context), sender, context)
    },
    authorizeSocket: async (request) => authorizeSocket(context.admit(request), context),
    onError: (error) => app.log.error({ err: error }, 'A stream failed'),
  })
  const stop = credentials.onRevoked((key) => streams.revoke(key))
  metrics.countStreams(() => streams.open)
  return { streams, stop }
}

/** A page with a cookie is a caller only after it has sent the proof of its login. */
function authorizeSocket(sender: RequestSender, context: GatewayContext): SocketCaller {
  const found = identify(sender, context)
  if (!('confirm' in found)) return { caller: callerOf(found.credential, sender, context) }
  return {
    key: found.key,
    confirm: (proof) => callerOf(found.confirm(proof), sender, context),
  }
}

function callerOf(credential: Credential, { headers }: RequestSender, context: GatewayContext): StreamCaller {
  context.rateLimit?.count(credential.id)
  return {
    credential: credential.id,
    key: credential.key,
    person: credential.kind === 'person' ? context.callers.bind(credential, headers).desk : null,
    mayRead: (sessionId) => context.access.mayRead(credential, sessionId),
    async checkNotRevoked() {
      if (credential.kind === 'person')
        checkNotRevoked(await context.credentials.isCurrentInStore(credential))
    },
  }
}
