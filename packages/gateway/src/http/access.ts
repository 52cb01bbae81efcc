import type { Desk, Fence } from '@askback/core'
import { AskbackError } from '@askback/protocol'
import type { Credential } from '../credentials/credential.js'
import type { Who, GatewayContext } from '../route.js'

const MOST_REMEMBERED = 10_000

/** What each kind of credential may do. */
export class Access {
  readonly #desk: Desk
  /** Sessions of outside agents; which they are never changes. */
  readonly #outside = new Set<string>()

  constructor(desk: Desk) {
    this.#desk = desk
  }

  /** Throws `forbidden`. Waits only for what is not known yet. */
  check(who: Who, credential: Credential, sessionId: string | undefined): Promise<void> | undefined {
    if (credential.kind === 'person' || who === 'any_agent') return undefined
    if (who === 'person') throw new AskbackError('forbidden', 'Only a person may do this.')
    if (who === 'outside_agent') {
      if (credential.sessionId === null) return undefined
      throw new AskbackError('forbidden', 'This token is for one session only.')
    }
    if (sessionId === undefined) throw new AskbackError('forbidden', 'An agent may not do this.')
    const readable = this.mayRead(credential, sessionId)
    if (readable === true) return undefined
    if (readable === false) throw elsewhere()
    return readable.then((may) => {
      if (!may) throw elsewhere()
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
    if (this.#outside.size >= MOST_REMEMBERED) this.#outside.clear()
    this.#outside.add(sessionId)
    return true
  }
}

function elsewhere(): AskbackError {
  return new AskbackError('forbidden', 'This token is not for this session.')
}

/**
 * A script in the shell of an agent writes as that agent does: nothing more, once another gateway runs the session. Scripts talk to
 * the gateway that started their agent, so that it is the one to know.
 */
export function fenceOf({ host }: GatewayContext, credential: Credential): Fence | undefined {
  if (credential.kind === 'person' || credential.sessionId === null) return undefined
  return host.fenceOf(credential.sessionId)
}
