import { AskbackError } from '@askback/protocol'
import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'

/** Reads `X-Forwarded-*` headers. They count only if the connection comes from an address that the operator trusts. */
export interface TrustedProxies {
  /** The address of the caller: the last one in the chain that is no trusted proxy. */
  addressOf(request: IncomingMessage): string
  /** Whether the caller uses TLS to this gateway or to a trusted proxy. */
  isSecure(request: IncomingMessage): boolean
  /** Whether the connection comes from a trusted proxy, or from this machine. */
  isNear(request: IncomingMessage): boolean
}

/** Each address is an IP address or a range like 10.0.0.0/8. Throws `invalid_request` for anything else. */
export function createTrustedProxies(addresses: readonly string[]): TrustedProxies {
  const trusted = listOf(addresses)
  const isTrusted = (address: string) => addresses.length > 0 && isIn(trusted, address)

  function addressOf({ headers, socket }: IncomingMessage): string {
    let address = socket.remoteAddress ?? ''
    if (addresses.length === 0) return address
    for (const next of entries(headers['x-forwarded-for']).toReversed()) {
      if (!isTrusted(address) || isIP(next) === 0) break
      address = next
    }
    return address
  }

  return {
    addressOf,
    isSecure({ headers, socket }) {
      if ('encrypted' in socket && socket.encrypted === true) return true
      // A proxy appends its value to what the caller sent, so the last one is the proxy's own.
      return isTrusted(socket.remoteAddress ?? '') && entries(headers['x-forwarded-proto']).at(-1) === 'https'
    },
    isNear({ socket: { remoteAddress = '' } }) {
      return isTrusted(remoteAddress) || isIn(LOOPBACK, remoteAddress)
    },
  }
}

const LOOPBACK = listOf(['127.0.0.0/8', '::1'])

function listOf(addresses: readonly string[]): BlockList {
  const list = new BlockList()
  for (const each of addresses) {
    const [, address = '', prefix] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(each) ?? []
    const family = isIP(address)
    const bits = prefix === undefined ? undefined : Number(prefix)
    if (family === 0 || (bits ?? 0) > (family === 4 ? 32 : 128)) {
      throw new AskbackError(
        'invalid_request',
        `${JSON.stringify(each)} is no IP address, and no range of them.`,
      )
    }
    if (bits === undefined) list.addAddress(address, family === 4 ? 'ipv4' : 'ipv6')
    else list.addSubnet(address, bits, family === 4 ? 'ipv4' : 'ipv6')
  }
  return list
}

function isIn(list: BlockList, address: string): boolean {
  const family = isIP(address)
  return family !== 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6')
}

/** Node joins headers of the same name with commas. */
function entries(header: string | string[] | undefined): string[] {
  return (Array.isArray(header) ? header.join(',') : (header ?? ''))
    .split(',')
    .flatMap((each) => each.trim() || [])
}
