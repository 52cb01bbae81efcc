import { AskbackError } from '@askback/protocol'
import type { IncomingMessage } from 'node:http'
import { MemorySocket } from './memory-socket.js'

/** How a request came to the gateway, if another server received it and passed it on. */
export interface Mount {
  /** The path under which that server has mounted the gateway, like `/askback`; empty at its root. */
  readonly prefix: string
  /** The request as that server's framework knows it, for `authenticate`. */
  readonly source: unknown
  /** Whether that server passes on upgrades to WebSockets, too. */
  readonly upgrades: boolean
}

const mounts = new WeakMap<IncomingMessage, Mount>()

/** The path segments of a URL, as browsers write them. Pages contain the prefix, so nothing else may be in it. */
const PREFIX = /^(?:\/[\w.~%!$'()*+,;=:@-]+)*$/

/** Throws `invalid_request` for a prefix that is no path, such as one with a slash at its end. */
export function checkPrefix(prefix: string): string {
  if (PREFIX.test(prefix)) return prefix
  throw new AskbackError(
    'invalid_request',
    `${JSON.stringify(prefix.slice(0, 200))} is no path to mount Askback under, like /askback.`,
  )
}

/** Remembers how this request came. */
export function setMount(request: IncomingMessage, mount: Mount): void {
  mounts.set(request, mount)
}

/** `null` for a request that came to the gateway's own port. */
export function mountOf(request: IncomingMessage): Mount | null {
  return mounts.get(request) ?? (request.socket instanceof MemorySocket ? request.socket.mount : null)
}

/** The path before those of the gateway's own routes, for links in what it sends. */
export function prefixOf(request: IncomingMessage): string {
  return mountOf(request)?.prefix ?? ''
}

/** Removes the prefix from the address of a request, or returns `null` if it does not begin with it. */
export function withoutPrefix(url: string, prefix: string): string | null {
  if (!url.startsWith(prefix)) return null
  const rest = url.slice(prefix.length)
  if (rest === '' || rest.startsWith('?')) return `/${rest}`
  return rest.startsWith('/') ? rest : null
}
