import { AskbackError, type Actor, type Via } from '@askback/protocol'
import type { IncomingHttpHeaders } from 'node:http'
import type { Credential } from '../credentials/credential.js'
import type { Credentials } from '../credentials/credentials.js'
import type { FailedLogins } from '../credentials/failed-logins.js'

const SURFACES: ReadonlySet<string> = new Set(['cli', 'terminal', 'http'])

/** Whoever sends these headers. A token goes before a cookie: who sets one means it. */
export function authenticate(
  headers: IncomingHttpHeaders,
  address: string,
  { credentials, failedLogins }: { credentials: Credentials; failedLogins: FailedLogins },
): Credential {
  const shown = shownBy(headers, credentials.cookieName)
  if (!shown) {
    throw new AskbackError('unauthorized', 'This needs a token (Authorization: Bearer …) or a login.')
  }
  const found =
    'cookie' in shown
      ? credentials.findCookie(shown.cookie)
      : shown.token && credentials.findToken(shown.token)
  if (found) return found
  failedLogins.note(address)
  throw new AskbackError(
    'unauthorized',
    'cookie' in shown ? 'This login is over. Log in again.' : 'This token is not valid here.',
  )
}

/** `by` and `via` of what a person does, from how they came in. */
export function actorOf(credential: Credential, headers: IncomingHttpHeaders): { by?: Actor; via: Via } {
  if (credential.kind === 'agent') return { via: 'http' }
  const { by, via } = credential
  const surface = headers['askback-surface']
  if (surface === undefined || via === 'web') return { by, via }
  if (typeof surface === 'string' && SURFACES.has(surface)) return { by, via: surface as Via }
  throw new AskbackError('invalid_request', 'Askback-Surface is one of cli, terminal and http.')
}

function shownBy(
  headers: IncomingHttpHeaders,
  cookieName: string,
): { token: string | null } | { cookie: string } | null {
  const { authorization } = headers
  if (authorization !== undefined) return { token: /^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? null }
  const cookie = headers.cookie?.split(/; */).find((pair) => pair.startsWith(`${cookieName}=`))
  return cookie === undefined ? null : { cookie: cookie.slice(cookieName.length + 1) }
}
