import type { FastifyInstance } from 'fastify'
import type { Credential } from './credentials/credential.js'
import type { Sender } from './http/admission.js'
import { actorOf, authenticate, checkGood, identify } from './http/authenticate.js'
import type { GatewayContext } from './route.js'
import { type Caller, type SocketCaller, registerStreams, type Streams } from './streams/register.js'

/**
 * Serves the streams behind the same checks as every other route. `stop` ends the subscription to revoked credentials, which may
 * outlive this gateway.
 */
export function serveStreams(
  app: FastifyInstance,
  context: GatewayContext,
): { streams: Streams; stop: () => void } {
  const { host, store, config, clock, metrics, credentials } = context
  const { sockets, streams: most, bodyBytes, jsonDepth } = config.limits
  const streams = registerStreams(app, {
    host,
    store,
    clock,
    config: { sockets, streams: most, frameBytes: bodyBytes, jsonDepth },
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

/** A page by cookie has yet to send the proof that belongs to it. */
function authorizeSocket(sender: Sender, context: GatewayContext): SocketCaller {
  const found = identify(sender, context)
  if (!('confirm' in found)) return { caller: callerOf(found.credential, sender, context) }
  return {
    key: found.key,
    confirm: (proof) => callerOf(found.confirm(proof), sender, context),
  }
}

function callerOf(credential: Credential, { headers }: Sender, context: GatewayContext): Caller {
  context.rateLimit?.count(credential.id)
  const { by, via } = actorOf(credential, headers)
  return {
    credential: credential.id,
    key: credential.key,
    person: by ? { by, via } : null,
    mayRead: (sessionId) => context.access.mayRead(credential, sessionId),
    async checkStillGood() {
      if (credential.kind === 'person') checkGood(await context.credentials.isStillGood(credential))
    },
  }
}
