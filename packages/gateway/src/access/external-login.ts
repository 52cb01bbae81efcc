import type { Clock } from '@askback/core'
import { AskbackError, sessionTagsInput } from '@askback/protocol'
import type { IncomingMessage } from 'node:http'
import * as z from 'zod'
import type { Credential } from '../credentials/credential.js'
import type { RequestSender } from '../http/admission.js'
import { mountOf } from '../mount/mount.js'
import type { Authenticate, AuthenticatedActor } from './embedder.js'
import { withinTime } from './time-limit.js'

/** The first person of Askback itself has this id, and powers that go with it. */
const RESERVED_ID = 'owner'

const text = z
  .string()
  .min(1)
  .max(200)
  .refine((value) => value.isWellFormed(), 'holds half a character (a lone surrogate)')

const actor = z.looseObject({
  id: text,
  name: text.optional(),
  role: z.enum(['person', 'agent']),
  tags: sessionTagsInput.optional(),
})

export interface ExternalLoginOptions {
  authenticate: Authenticate<never>
  /** Whether pages of allowed origins may be signed in by cookie, too. */
  cookiesOfAllowedPages: boolean
  clock: Clock
  timeoutMs: number
  onError: (error: unknown) => void
}

/**
 * The login of the program that embeds the gateway. Its cookies can be sent by any page that the browser shows, so a request counts only
 * if the browser says that it comes from a page of this server, for reads as well as for writes.
 */
export class ExternalLogin {
  readonly #options: ExternalLoginOptions

  constructor(options: ExternalLoginOptions) {
    this.#options = options
  }

  /** Resolves to `null` if nobody is signed in. Rejects with `forbidden` or `unavailable`. */
  async find(request: IncomingMessage, { headers, page }: RequestSender): Promise<Credential | null> {
    const { authenticate, clock, timeoutMs, onError, cookiesOfAllowedPages } = this.#options
    const site = headers['sec-fetch-site']
    if (page === 'allowed') {
      if (headers.cookie !== undefined && !cookiesOfAllowedPages)
        throw new AskbackError(
          'forbidden',
          'Pages of other origins may not send cookies here: send a token, without credentials.',
        )
    } else if (site !== undefined && site !== 'same-origin' && site !== 'none')
      throw new AskbackError('forbidden', 'Only pages of this gateway itself may do this.')
    let found: unknown
    try {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each mount passes on the kind of request that its `authenticate` takes
      const source = (mountOf(request)?.source ?? request) as never
      found = await withinTime(clock, timeoutMs, 'authenticate', () => authenticate(source))
    } catch (error) {
      onError(error)
      throw new AskbackError('unavailable', 'It could not be checked whether you are signed in. Try again.')
    }
    if (found === null || found === undefined) return null
    const isBrowser = site !== undefined || headers.origin !== undefined
    return this.#credentialOf(found, isBrowser ? 'web' : 'http')
  }

  #credentialOf(found: unknown, via: 'web' | 'http'): Credential {
    const parsed = actor.safeParse(found)
    const problem = !parsed.success
      ? z.prettifyError(parsed.error)
      : parsed.data.id === RESERVED_ID
        ? `the id "${RESERVED_ID}" is that of Askback's own first person`
        : null
    if (problem !== null) {
      this.#options.onError(new Error(`authenticate returned no valid actor: ${problem}`))
      throw new AskbackError('unavailable', 'It could not be checked whether you are signed in. Try again.')
    }
    // The object itself, with all fields that the embedder needs in `authorize`.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- checked above
    const who = found as AuthenticatedActor
    const { id, name, role } = who
    const key = externalKey(id)
    const external = { actor: who, at: this.#options.clock.now() }
    if (role === 'agent') return { kind: 'agent', id: key, key, sessionId: null, external }
    return { kind: 'person', id: key, key, by: { id, ...(name !== undefined && { name }) }, via, external }
  }
}

/** The key of the credentials of an actor that the embedder has signed in. */
export function externalKey(actorId: string): string {
  return `external:${actorId}`
}
