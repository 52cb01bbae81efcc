import type { Desk } from '@askback/core'
import { AskbackError } from '@askback/protocol'
import type { Credential } from '../credentials/credential.js'
import type { AllowedCallers } from '../route.js'

const MAX_CACHED_SESSIONS = 10_000

/** Decides which credential may use which route and session. */
export class Access {
  readonly #desk: Desk
  /** Cache of session ids: a session of outside agents stays one. */
  readonly #outside = new Set<string>()

  constructor(desk: Desk) {
    this.#desk = desk
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
    return this.#outside.has(sessionId) || this.#isOutside(sessionId)
  }

  async #isOutside(sessionId: string): Promise<boolean> {
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
