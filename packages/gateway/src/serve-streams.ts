import type { FastifyInstance } from 'fastify'
import type { IncomingMessage } from 'node:http'
import { accessOf } from './access/call-access.js'
import type { Credential } from './credentials/credential.js'
import type { RequestSender } from './http/admission.js'
import { authenticate, checkNotRevoked, identifySocket } from './http/authenticate.js'
import type { GatewayContext } from './route.js'
import { scopeOf } from './routes/interactions.js'
import {
  type StreamCaller,
  type SocketCaller,
  registerStreams,
  type GatewayStreams,
  type StreamGuard,
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
    isGuarded: context.authorizer !== null,
    authorize: async (request) => {
      const sender = context.admit(request)
      return callerOf(await authenticate(request, sender, context), sender, context)
    },
    authorizeSocket: (request) => authorizeSocket(request, context),
    onError: (error) => app.log.error({ err: error }, 'A stream failed'),
  })
  const stop = credentials.onRevoked((key) => streams.revoke(key))
  metrics.countStreams(() => streams.open)
  return { streams, stop }
}

/** A page with a cookie is a caller only after it has sent the proof of its login. */
async function authorizeSocket(request: IncomingMessage, context: GatewayContext): Promise<SocketCaller> {
  const sender = context.admit(request)
  const found = await identifySocket(request, sender, context)
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
    guard: guardOf(credential, context),
    async checkNotRevoked() {
      if (credential.kind === 'person')
        checkNotRevoked(await context.credentials.isCurrentInStore(credential))
    },
  }
}

function guardOf(credential: Credential, { authorizer }: GatewayContext): StreamGuard | null {
  const access = accessOf(credential, authorizer)
  if (!access) return null
  return {
    check: (sessionId, action) => access.check(sessionId, action),
    checkStill: (sessionId) => access.checkStill(sessionId),
    checkScope: (answer) => access.checkScope(scopeOf(answer)),
    mayRead: async (sessionId) => authorizer?.mayRead(credential, sessionId) ?? true,
    mightRead: async (sessionId, tags) => authorizer?.mightRead(credential, sessionId, tags) ?? true,
  }
}
