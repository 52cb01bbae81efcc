import type { IncomingHttpHeaders } from 'node:http'
import type { FailedLogins } from '../credentials/failed-logins.js'
import { MalformedHost, type OriginGuard, type PageOrigin } from './origins.js'

export interface RequestHead {
  method: string
  headers: IncomingHttpHeaders
  /** Of the sender. */
  address: string
  /** Whether it asks for a WebSocket, which counts as a write. */
  upgrade?: boolean
}

/** The origin check for a request from somewhere. Throws `forbidden`, or `rate_limited` for those who probe. */
export type RequestOriginGuard = (head: RequestHead) => PageOrigin

export function requestOriginGuard(check: OriginGuard, failedLogins: FailedLogins): RequestOriginGuard {
  return ({ method, headers, address, upgrade = false }) => {
    try {
      return check(method, headers, upgrade)
    } catch (error) {
      if (error instanceof MalformedHost) failedLogins.note(address)
      throw error
    }
  }
}
