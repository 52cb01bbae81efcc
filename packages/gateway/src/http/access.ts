import type { BoundHost, Desk, Host, PersonCaller } from '@askback/core'
import { AskbackError, via as surfaces, type Via } from '@askback/protocol'
import type { IncomingHttpHeaders } from 'node:http'
import type { Authorizer } from '../access/authorizer.js'
import type { Credential, PersonCredential } from '../credentials/credential.js'
import type { AllowedCallers } from '../route.js'

// What a credential may do, and as which caller it acts. `authenticate.ts` finds the credential of a request.

const MAX_CACHED_SESSIONS = 10_000
/** The surfaces that may name themselves in `Askback-Surface`. */
const NAMED_SURFACES = surfaces.extract(['cli', 'terminal', 'http'])

/** Decides which credential may use which route and session. */
export class Access {
  readonly #desk: Desk
  readonly #authorizer: Authorizer | null
  /** Cache of session ids: a session of outside agents stays one. */
  readonly #outside = new Set<string>()

  constructor(desk: Desk, authorizer: Authorizer | null) {
    this.#desk = desk
    this.#authorizer = authorizer
  }

  /** Throws or rejects with `forbidden`. Returns a promise only if the desk has to be asked, to keep the common case synchronous. */
  check(
    allowed: AllowedCallers,
    credential: Credential,
    sessionId: string | undefined,
  ): Promise<void> | undefined {
    if (credential.kind === 'person' || allowed === 'any_agent') return undefined
    if (allowed === 'person') throw new AskbackError('forbidden', 'Only a person may do this.')
    if (allowed === 'outside_agent') {
      if (credential.sessionId === null) return undefined
      throw new AskbackError('forbidden', 'This token is for one session only.')
    }
    if (sessionId === undefined) throw new AskbackError('forbidden', 'An agent may not do this.')
    const readable = this.mayRead(credential, sessionId)
    if (readable === true) return undefined
    if (readable === false) throw otherSessionError()
    return readable.then((may) => {
      if (!may) throw otherSessionError()
    })
  }

  mayRead(credential: Credential, sessionId: string): boolean | Promise<boolean> {
    if (credential.kind === 'person') return true
    if (credential.sessionId !== null) return credential.sessionId === sessionId
    return this.#outside.has(sessionId) || this.#isOutside(credential, sessionId)
  }

  async #isOutside(credential: Credential, sessionId: string): Promise<boolean> {
    // To who may not read it, "not for this session" would say that the session exists.
    await this.#authorizer?.check(credential, sessionId, [])
    const agent = await this.#desk.agentOf(sessionId)
    if (agent !== null) return false
    if (this.#outside.size >= MAX_CACHED_SESSIONS) this.#outside.clear()
    this.#outside.add(sessionId)
    return true
  }
}

function otherSessionError(): AskbackError {
  return new AskbackError('forbidden', 'This token is not for this session.')
}

/** Binds the host to the callers of requests: once for each credential and surface, and not with each request. */
export class Callers {
  readonly #host: Host
  readonly #bound = new WeakMap<Credential, Map<Via, BoundHost>>()

  constructor(host: Host) {
    this.#host = host
  }

  /** Throws `invalid_request` for an unknown surface. */
  bind(credential: PersonCredential, headers: IncomingHttpHeaders): BoundHost<PersonCaller>
  bind(credential: Credential, headers: IncomingHttpHeaders): BoundHost
  bind(credential: Credential, headers: IncomingHttpHeaders): BoundHost {
    if (credential.kind === 'agent' && credential.sessionId !== null)
      return this.#bindToSession(credential.id, credential.sessionId)
    const via = surfaceOf(credential, headers)
    const known = this.#bound.get(credential)
    const bound = known ?? new Map<Via, BoundHost>()
    if (!known) this.#bound.set(credential, bound)
    const host = bound.get(via) ?? this.#bind(credential, via)
    bound.set(via, host)
    return host
  }

  #bind(credential: Credential, via: Via): BoundHost {
    const { id, kind: role } = credential
    return this.#host.as({ id, role, via, by: credential.kind === 'person' ? credential.by : undefined })
  }

  /**
   * For a script in an agent's shell: once another gateway has the lease of the session, the script may write as little as its
   * agent. Scripts call the gateway that started their agent, so this gateway knows the fence, which is another one after each takeover.
   */
  #bindToSession(id: string, sessionId: string): BoundHost {
    return this.#host.as({ id, role: 'agent', via: 'http', fence: this.#host.fenceOf(sessionId) })
  }
}

/** Askback's own surfaces name themselves in `Askback-Surface`. */
function surfaceOf(credential: Credential, headers: IncomingHttpHeaders): Via {
  if (credential.kind === 'agent') return 'http'
  const { via } = credential
  const named = headers['askback-surface']
  if (named === undefined || via === 'web') return via
  const surface = NAMED_SURFACES.safeParse(named)
  if (surface.success) return surface.data
  throw new AskbackError('invalid_request', 'Askback-Surface is one of cli, terminal and http.')
}
