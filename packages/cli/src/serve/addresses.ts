import { isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'

/** Whether only this machine can reach it. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}

/** The names in a `Host` header that mean a gateway listening there. */
export function namesOf(host: string): string[] {
  if (host !== '0.0.0.0' && host !== '::') return [bracketed(host)]
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  return own.map(({ address }) => bracketed(address))
}

function bracketed(address: string): string {
  return isIPv6(address) ? `[${address}]` : address
}
