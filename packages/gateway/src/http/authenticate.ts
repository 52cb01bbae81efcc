import {
  AskbackError,
  PROOF_HEADER,
  type Actor,
  type Via,
  requestSource,
  type RequestSource,
} from '@askback/protocol'
import type { IncomingHttpHeaders } from 'node:http'
import type { Credential } from '../credentials/credential.js'
import type { Credentials, Seed } from '../credentials/credentials.js'
import type { Sender } from './admission.js'
import type { FailedLogins } from './rate-limits.js'

/** Of the same name. Ours has the shortest path, so browsers send it last. */
const MOST_COOKIES = 8
const SURFACES: ReadonlySet<string> = new Set(['cli', 'terminal', 'http'])

interface Checks {
  credentials: Credentials
  failedLogins: FailedLogins
}

/** Throws `unauthorized`. A token takes precedence over a cookie: whoever sets one means it. */
export function authenticate(sender: Sender, checks: Checks): Credential {
  const proof = sender.headers[PROOF_HEADER]
  const found = identify(sender, checks)
  return 'confirm' in found ? found.confirm(typeof proof === 'string' ? proof : '') : found.credential
}

/**
 * As far as the headers of a request tell. A page cannot send a header with a WebSocket, so there the proof that goes
 * with a cookie comes later.
 */
export function identify(
  { headers, address, page }: Sender,
  { credentials, failedLogins }: Checks,
): { credential: Credential } | { key: string; confirm: (proof: string) => Credential } {
  const fail = (message: string): never => {
    failedLogins.note(address)
    throw new AskbackError('unauthorized', message)
  }
  const { authorization } = headers
  if (authorization !== undefined) {
    const token = /^Bearer +(\S+) *$/i.exec(authorization)?.[1]
    const credential = token === undefined ? null : credentials.findToken(token)
    return { credential: credential ?? fail('This token is not valid here.') }
  }
  // Pages of other origins call with a token of their own: a cookie would let them act for whoever is logged in.
  const cookies = page === 'allowed' ? [] : cookiesIn(headers, credentials.cookieName)
  if (cookies.length === 0) {
    throw new AskbackError('unauthorized', 'This needs a token (Authorization: Bearer …) or a login.')
  }
  // Another port of this host can set cookies of the same name, so the proof decides which one counts.
  const logins = cookies.flatMap((cookie) => {
    const credential = credentials.findLogin(cookie)
    return credential ? [{ cookie, credential }] : []
  })
  const key = logins.at(-1)?.credential.key ?? fail('This login is over. Log in again with askback open.')
  return {
    key,
    confirm(proof) {
      // No guess, and no failed login: a page whose storage was cleared, or another port that received the cookie.
      if (proof === '')
        throw new AskbackError('unauthorized', 'This login needs its proof. Log in again with askback open.')
      const proven = logins.find(({ cookie }) => credentials.isProof(cookie, proof))
      return proven?.credential ?? fail('This proof is not of this login.')
    },
  }
}

/** Throws `unauthorized` for a credential that was good when its sender came in, and is no longer. */
export function checkGood(isGood: boolean): void {
  if (!isGood) throw new AskbackError('unauthorized', 'This credential was revoked.')
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

/**
 * What makes the secrets of a repeated request the same: its key, and the secret that its sender has shown. Derived from
 * anything that the store has, they could be made by whoever reads the store.
 */
export function seedOf(headers: IncomingHttpHeaders, key: string | undefined): Seed | undefined {
  if (key === undefined) return undefined
  const { authorization = '', [PROOF_HEADER]: proof = '' } = headers
  // Not the cookies: another port of this host can add some between the request and its repetition.
  return { key, secret: JSON.stringify(authorization ? ['token', authorization] : ['proof', proof]) }
}

function cookiesIn({ cookie = '' }: IncomingHttpHeaders, name: string): string[] {
  const pairs = cookie.split(/; */).filter((each) => each.startsWith(`${name}=`))
  return pairs.slice(-MOST_COOKIES).map((pair) => pair.slice(name.length + 1))
}

/** How a request came: our own command line, MCP server and hooks name themselves in a header. */
export function sourceIn(headers: IncomingHttpHeaders): RequestSource {
  const named = headers['askback-source']
  if (named === undefined) return 'http'
  const parsed = requestSource.safeParse(named)
  if (parsed.success) return parsed.data
  throw new AskbackError('invalid_request', `Askback-Source is one of ${requestSource.options.join(', ')}.`)
}
