import { AskbackError, PROOF_HEADER, requestSource, type RequestSource } from '@askback/protocol'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { ExternalLogin } from '../access/external-login.js'
import type { Credential } from '../credentials/credential.js'
import type { Credentials } from '../credentials/credentials.js'
import type { RequestSender } from './admission.js'
import type { FailedLogins } from './rate-limits.js'

/** Cookies of the same name that are checked. Ours has the shortest path, so browsers send it last. */
const MAX_COOKIES = 8

interface AuthenticationPorts {
  credentials: Credentials
  failedLogins: FailedLogins
  /** The login of the embedding program, if it has one. */
  external: ExternalLogin | null
}

/**
 * The credential of a request. Throws or rejects with `unauthorized`. A token takes precedence over a cookie, which browsers add by
 * themselves. It is a promise only if the embedding program has to be asked, to keep the common case synchronous.
 */
export function authenticate(
  request: IncomingMessage,
  sender: RequestSender,
  ports: AuthenticationPorts,
): Credential | Promise<Credential> {
  const { external } = ports
  if (!external || sender.headers[PROOF_HEADER] !== undefined || hasOwnToken(sender, ports))
    return findOwn(sender, ports)
  return external.find(request, sender).then((credential) => credential ?? findOwn(sender, ports))
}

/** The credential by a token or a browser login of Askback itself. */
function findOwn(sender: RequestSender, ports: AuthenticationPorts): Credential {
  const proof = sender.headers[PROOF_HEADER]
  const found = identify(sender, ports)
  return 'confirm' in found ? found.confirm(typeof proof === 'string' ? proof : '') : found.credential
}

/** Whether the request carries a token that Askback itself has given. */
function hasOwnToken({ headers }: RequestSender, { credentials }: AuthenticationPorts): boolean {
  const token = tokenIn(headers)
  return token !== undefined && credentials.findToken(token) !== null
}

function tokenIn({ authorization = '' }: IncomingHttpHeaders): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(authorization)?.[1]
}

/** The same for a WebSocket, where the proof of a browser login comes later: see `identify`. */
export async function identifySocket(
  request: IncomingMessage,
  sender: RequestSender,
  ports: AuthenticationPorts,
): Promise<ReturnType<typeof identify>> {
  const { external } = ports
  if (external && !hasOwnToken(sender, ports)) {
    const credential = await external.find(request, sender)
    if (credential) return { credential }
  }
  return identify(sender, ports)
}

/**
 * The credential as far as the headers show it. A page cannot send its own headers with a WebSocket, so there the proof of a
 * login comes later, in the first message, and `confirm` checks it.
 */
export function identify(
  { headers, address, page }: RequestSender,
  { credentials, failedLogins }: AuthenticationPorts,
): { credential: Credential } | { key: string; confirm: (proof: string) => Credential } {
  const fail = (message: string): never => {
    failedLogins.count(address)
    throw new AskbackError('unauthorized', message)
  }
  const { authorization } = headers
  if (authorization !== undefined) {
    const token = tokenIn(headers)
    const credential = token === undefined ? null : credentials.findToken(token)
    return { credential: credential ?? fail('This token is not valid here.') }
  }
  // Pages of other origins must send a token: a cookie would let them act for the person who is logged in.
  const cookies = page === 'allowed' ? [] : cookiesIn(headers, credentials.cookieName)
  if (cookies.length === 0) {
    throw new AskbackError('unauthorized', 'This needs a token (Authorization: Bearer …) or a login.')
  }
  // Another port of this host can set cookies of the same name, so the proof decides which login is meant.
  const logins = cookies.flatMap((cookie) => {
    const credential = credentials.logins.find(cookie)
    return credential ? [{ cookie, credential }] : []
  })
  const key = logins.at(-1)?.credential.key ?? fail('This login is over. Log in again with askback open.')
  return {
    key,
    confirm(proof) {
      // This is no attempt to guess a proof, so it does not count as a failed login: the page's storage was cleared, or another port
      // received the cookie.
      if (proof === '')
        throw new AskbackError('unauthorized', 'This login needs its proof. Log in again with askback open.')
      const proven = logins.find(({ cookie }) => credentials.logins.isProof(cookie, proof))
      return proven?.credential ?? fail('This proof is not of this login.')
    },
  }
}

/** Throws `unauthorized` for a credential that was valid when its request began, and is no longer. */
export function checkNotRevoked(isCurrent: boolean): void {
  if (!isCurrent) throw new AskbackError('unauthorized', 'This credential was revoked.')
}

function cookiesIn({ cookie = '' }: IncomingHttpHeaders, name: string): string[] {
  const pairs = cookie.split(/; */).filter((each) => each.startsWith(`${name}=`))
  return pairs.slice(-MAX_COOKIES).map((pair) => pair.slice(name.length + 1))
}

/** Which program opened an interaction: our own command line, MCP server and hooks name themselves in `Askback-Source`. */
export function readSource(headers: IncomingHttpHeaders): RequestSource {
  const named = headers['askback-source']
  if (named === undefined) return 'http'
  const parsed = requestSource.safeParse(named)
  if (parsed.success) return parsed.data
  throw new AskbackError('invalid_request', `Askback-Source is one of ${requestSource.options.join(', ')}.`)
}
