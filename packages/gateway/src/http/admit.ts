import { AskbackError } from '@askback/protocol'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { FailedLogins } from '../credentials/failed-logins.js'
import { MalformedHost, type OriginGuard, type PageOrigin } from './origins.js'
import type { TrustedProxies } from './trusted-proxy.js'

/** Whoever sent a request, before it is known in whose name. */
export interface Sender {
  headers: IncomingHttpHeaders
  address: string
  /** Whose page sent the request, if a page did. */
  page: PageOrigin
}

/** The first check of every request. Throws `forbidden`, or `rate_limited` for those who probe. */
export type Admit = (request: IncomingMessage, method?: string) => Sender

export function admission(options: {
  checkOrigin: OriginGuard
  failedLogins: FailedLogins
  proxies: TrustedProxies
  /** Refuse what comes neither from this machine nor through a trusted proxy, which would be without TLS. */
  requireProxy: boolean
}): Admit {
  const { checkOrigin, failedLogins, proxies, requireProxy } = options
  return (request, method = request.method ?? 'GET') => {
    const { headers } = request
    const address = proxies.addressOf(request)
    if (requireProxy && !proxies.isNear(request)) {
      throw new AskbackError('forbidden', 'This gateway is reached through its proxy only, which uses TLS.')
    }
    try {
      return { headers, address, page: checkOrigin(method, headers, headers.upgrade !== undefined) }
    } catch (error) {
      if (error instanceof MalformedHost) failedLogins.note(address)
      throw error
    }
  }
}
