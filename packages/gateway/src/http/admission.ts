import { AskbackError } from '@askback/protocol'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { allowedOrigins } from './origin.js'
import type { FailedLogins } from './rate-limits.js'
import type { TrustedProxies } from './trusted-proxy.js'

/** The sender of a request before authentication. */
export interface RequestSender {
  headers: IncomingHttpHeaders
  address: string
  /** The origin of the page that sent the request, if a browser named one. */
  page: PageOrigin
}

/** The first check of every request. Throws `forbidden`, or `rate_limited` for an address that sends malformed hosts. */
export type Admit = (request: IncomingMessage, method?: string) => RequestSender

export function createAdmission(options: {
  checkOrigin: OriginGuard
  failedLogins: FailedLogins
  proxies: TrustedProxies
  /** Refuse requests that come neither from this machine nor through a trusted proxy: they would be without TLS. */
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
      if (error instanceof MalformedHost) failedLogins.count(address)
      throw error
    }
  }
}

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']
const WRITE_METHODS = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/**
 * The same URL under the loopback name that the gateway prints, or `null` if the request used that name. Browsers store cookies
 * and localStorage per name, so a login under `localhost` would be missing under `127.0.0.1`.
 */
export function urlUnderOwnName(url: string, host: string | undefined, own: URL | null): string | null {
  if (!own || host === undefined || !LOOPBACK.includes(own.hostname)) return null
  const requested = new URL(url, `${own.protocol}//${host}`)
  if (!LOOPBACK.includes(requested.hostname) || requested.hostname === own.hostname) return null
  requested.hostname = own.hostname
  return requested.href
}

export interface OriginRules {
  /** In addition to the loopback names. */
  hosts: string[]
  origins: string[]
}

/**
 * Refuses requests that a foreign page makes a browser send. A page that rebinds its DNS name to this address sends its own name as
 * `Host`. A page on another port of this machine sends that port in its `Origin`, which must match this gateway's including the port.
 */
export function createOriginGuard(rules: OriginRules): OriginGuard {
  const hosts = new Set([...LOOPBACK, ...rules.hosts.map((host) => host.toLowerCase())])
  const origins = allowedOrigins(rules.origins)
  // The same few hosts come with every request, so valid ones are cached.
  const allowed = new Set<string>()

  function checkHost(host: string | undefined): string {
    if (host === undefined) return refuse('The request names no Host.')
    if (allowed.has(host)) return host
    const name = hostname(host)
    if (name === null) throw new MalformedHost('The Host of this request is not a name with a port.')
    if (!hosts.has(name)) {
      refuse(`The Host ${JSON.stringify(host.slice(0, 200))} is not one of this gateway's names.`)
    }
    if (allowed.size < 1000) allowed.add(host)
    return host
  }

  function checkOrigin(origin: string, host: string): 'own' | 'allowed' {
    if (origins.has(origin)) return 'allowed'
    const url = URL.canParse(origin) ? new URL(origin) : null
    const isWeb = url?.protocol === 'http:' || url?.protocol === 'https:'
    const own =
      url && isWeb && hosts.has(url.hostname) && portOf(url) === portOf(new URL(`${url.protocol}//${host}`))
    return own ? 'own' : refuse(`Pages of ${JSON.stringify(origin.slice(0, 200))} may not call this gateway.`)
  }

  return (method, headers, upgrade) => {
    const host = checkHost(headers.host)
    const { origin } = headers
    const page = origin === undefined ? 'unknown' : checkOrigin(origin, host)
    const site = headers['sec-fetch-site']
    if (site === undefined || !(upgrade || WRITE_METHODS.has(method))) return page
    if (site === 'same-origin' || site === 'none' || page === 'allowed') return page
    return refuse('Only pages of this gateway itself may do this.')
  }
}

/** Throws `forbidden`. */
export type OriginGuard = (method: string, headers: IncomingHttpHeaders, upgrade: boolean) => PageOrigin

/** The page that sent a request: the gateway's own, one that the operator allows, or unknown because no `Origin` was sent. */
export type PageOrigin = 'own' | 'allowed' | 'unknown'

/** No browser sends such a host. It counts as a failed login, because it is an attempt to attack. */
class MalformedHost extends AskbackError {
  constructor(message: string) {
    super('forbidden', message)
  }
}

/** The name in lower case without the port; `null` if it is malformed. */
function hostname(host: string): string | null {
  const [, name, port] = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?$/i.exec(host) ?? []
  if (name === undefined || Number(port ?? 0) > 65_535 || !URL.canParse(`http://${host}`)) return null
  return name.toLowerCase()
}

function portOf(url: URL): string {
  return url.port || (url.protocol === 'https:' ? '443' : '80')
}

function refuse(message: string): never {
  throw new AskbackError('forbidden', message)
}
