import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Gateway } from '../gateway.js'
import { sendErrorTo, toAskbackError } from '../http/responses.js'
import { routeUpgrades, takeUpgrade } from './upgrades.js'

/** Middleware for Express, and for anything that calls functions with a request and a response of Node.js. */
export interface ExpressHandler<Request extends IncomingMessage = IncomingMessage> {
  (request: Request, response: ServerResponse, next?: (error?: unknown) => void): void
  /**
   * Serves WebSockets, too: pass the server that `app.listen` returns. Without it, the web app uses server-sent events. Returns how to
   * detach it.
   */
  attach(server: Server): () => void
}

/** Express removes the path of the mount from `url` and puts it into `baseUrl`. */
export function expressHandler<Request extends IncomingMessage>(
  gateway: Promise<Gateway>,
  onDetach: (detach: () => void) => void,
): ExpressHandler<Request> {
  let attached = 0
  const handle = (request: Request & { baseUrl?: string }, response: ServerResponse) => {
    const mount = { prefix: request.baseUrl ?? '', source: request, upgrades: attached > 0 }
    passOn(gateway, { request, response, mount })
  }
  return Object.assign(handle, {
    attach(server: Server) {
      attached++
      const stop = routeUpgrades(server)
      let isAttached = true
      const detach = () => {
        if (isAttached) attached--
        isAttached = false
        stop()
      }
      onDetach(detach)
      return detach
    },
  })
}

/** Gives the gateway a request, or an upgrade, as soon as it has started. */
export function passOn(
  gateway: Promise<Gateway>,
  {
    request,
    response,
    mount,
  }: { request: IncomingMessage; response: ServerResponse; mount: Parameters<Gateway['handle']>[2] },
): void {
  gateway
    .then(async (started) => {
      const upgrading = takeUpgrade(request)
      if (upgrading) await started.upgrade(request, upgrading.socket, upgrading.head, mount)
      else await started.handle(request, response, mount)
    })
    .catch((error: unknown) => sendErrorTo(response, toAskbackError(error)))
}
