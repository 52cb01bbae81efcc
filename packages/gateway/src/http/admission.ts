import { AskbackError } from '@askback/protocol'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { FailedLogins } from './rate-limits.js'
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

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']
const WRITES = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/**
 * The same address under the loopback name that the gateway uses itself, if the request came under another one. Browsers
 * keep storage and cookies by name, so a login under a second name would not see who is logged in under the first.
 */
export function underOwnName(url: string, host: string | undefined, own: URL | null): string | null {
  if (!own || host === undefined || !LOOPBACK.includes(own.hostname)) return null
  const asked = new URL(url, `${own.protocol}//${host}`)
  if (!LOOPBACK.includes(asked.hostname) || asked.hostname === own.hostname) return null
  asked.hostname = own.hostname
  return asked.href
}

export interface OriginRules {
  /** Beside the loopback names. */
  hosts: string[]
  origins: string[]
}

/**
 * Refuses what a foreign page makes a browser send. A page that rebinds its name to this address shows itself by the
 * `Host`; one on another port of this machine by its `Origin`, which must be this gateway's own to the port.
 */
export function originGuard(rules: OriginRules): OriginGuard {
  const hosts = new Set([...LOOPBACK, ...rules.hosts.map((host) => host.toLowerCase())])
  const origins = new Set(rules.origins.map((origin) => new URL(origin).origin))
  // The same few values come with every request.
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
    const own = url && hosts.has(url.hostname) && portOf(url) === portOf(new URL(`${url.protocol}//${host}`))
    return own ? 'own' : refuse(`Pages of ${JSON.stringify(origin.slice(0, 200))} may not call this gateway.`)
  }

  return (method, headers, upgrade) => {
    const host = checkHost(headers.host)
    const { origin } = headers
    const page = origin === undefined ? 'unknown' : checkOrigin(origin, host)
    const site = headers['sec-fetch-site']
    if (site === undefined || !(upgrade || WRITES.has(method))) return page
    if (site === 'same-origin' || site === 'none' || page === 'allowed') return page
    return refuse('Only pages of this gateway itself may do this.')
  }
}

/** Throws `forbidden`. */
export type OriginGuard = (method: string, headers: IncomingHttpHeaders, upgrade: boolean) => PageOrigin

/** Of the page that sent a request: the gateway's own, another that the operator allows, or not said. */
export type PageOrigin = 'own' | 'allowed' | 'unknown'

/** No browser sends such a thing: somebody probes. */
export class MalformedHost extends AskbackError {
  constructor(message: string) {
    super('forbidden', message)
  }
}

/** In lower case, without the port; `null` for what is no host. */
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
