import type { Clock, Store } from '@askback/core'
import { AskbackError, type Session, type SessionTags } from '@askback/protocol'
import type { Credential } from '../credentials/credential.js'
import type {
  AccessRequest,
  AccessSession,
  AuthenticatedActor,
  Authorize,
  SessionAction,
} from './embedder.js'
import { withinTime } from './time-limit.js'

/** How many sessions are checked at the same time for one list. */
const CONCURRENT_CHECKS = 50
const MAX_KNOWN_SESSIONS = 10_000

export interface AuthorizerOptions {
  authorize: Authorize<never>
  store: Store
  clock: Clock
  timeoutMs: number
  onError: (error: unknown) => void
}

/**
 * Asks the embedder's `authorize`. Sessions are read from the store for each check, so that changed tags count at once, on every
 * gateway. A session that the actor may not read is reported like one that does not exist.
 */
export class Authorizer {
  readonly #options: AuthorizerOptions
  /** Sessions that were checked, as they were then: they decide who gets the news of a deletion. */
  readonly #known = new Map<string, AccessSession>()

  constructor(options: AuthorizerOptions) {
    this.#options = options
  }

  /**
   * Rejects with `not_found` or `forbidden` unless the actor may do all of this in the session. Resolves to the session as it was
   * then; `null` if it is the actor's own.
   */
  async check(
    credential: Credential,
    sessionId: string,
    actions: readonly SessionAction[],
  ): Promise<AccessSession | null> {
    if (isOwnSession(credential, sessionId)) return null
    const session = await this.#session(sessionId)
    if (!session || !(await this.#ask(credential, { action: 'read', session }))) throw noSession(sessionId)
    await this.checkSession(
      credential,
      session,
      actions.filter((action) => action !== 'read'),
    )
    return session
  }

  /** The same for a session that the actor may read, or as it would be after a change. */
  async checkSession(
    credential: Credential,
    session: AccessSession,
    actions: readonly (SessionAction | 'create')[],
  ): Promise<void> {
    for (const action of actions)
      if (!(await this.#ask(credential, { action, session })))
        throw new AskbackError('forbidden', REFUSALS[action])
  }

  async mayAdminister(credential: Credential): Promise<boolean> {
    return this.#ask(credential, { action: 'administer', session: null })
  }

  /** Whether the actor may read the session, or might read it before it was deleted. A failed check counts as no. */
  async mayRead(credential: Credential, sessionId: string): Promise<boolean> {
    if (isOwnSession(credential, sessionId)) return true
    return this.#answer(
      credential,
      async () => (await this.#session(sessionId)) ?? this.#known.get(sessionId),
    )
  }

  async #answer(credential: Credential, find: () => Promise<AccessSession | undefined>): Promise<boolean> {
    try {
      const session = await find()
      return session !== undefined && (await this.#ask(credential, { action: 'read', session }))
    } catch (error) {
      if (!(error instanceof AskbackError)) this.#options.onError(error)
      return false
    }
  }

  /** The same for a session as it was with other tags. */
  async mightRead(credential: Credential, sessionId: string, tags: SessionTags): Promise<boolean> {
    return this.#answer(credential, async () => {
      const session = await this.#session(sessionId)
      return session && { ...session, tags }
    })
  }

  /** Which of these sessions the actor may read. Those that do not exist are left out. */
  async readable(credential: Credential, sessionIds: Iterable<string>): Promise<Set<string>> {
    const ids = [...new Set(sessionIds)]
    const may = await inParallel(ids, async (id) => {
      if (isOwnSession(credential, id)) return true
      const session = await this.#session(id)
      return session !== undefined && this.#ask(credential, { action: 'read', session })
    })
    return new Set(ids.filter((_, index) => may[index]))
  }

  /** The same for sessions that were just read from the store. */
  readableRows(credential: Credential, rows: readonly Session[]): Promise<boolean[]> {
    return inParallel(rows, (row) =>
      this.#ask(credential, { action: 'read', session: this.#remember(accessSession(row)) }),
    )
  }

  async describe(sessionId: string): Promise<AccessSession> {
    const session = await this.#session(sessionId)
    if (session) return session
    throw noSession(sessionId)
  }

  async #session(sessionId: string): Promise<AccessSession | undefined> {
    const row = await this.#options.store.session(sessionId)
    return row ? this.#remember(accessSession(row)) : undefined
  }

  #remember(session: AccessSession): AccessSession {
    if (this.#known.size >= MAX_KNOWN_SESSIONS) this.#known.clear()
    if (session.id !== null) this.#known.set(session.id, session)
    return session
  }

  /** Rejects with `forbidden` if `authorize` fails or does not answer: nobody is allowed anything by accident. */
  async #ask(credential: Credential, request: AccessRequest): Promise<boolean> {
    const { authorize, clock, timeoutMs, onError } = this.#options
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what `authenticate` returned, or what the guide says of tokens
    const who = actorOf(credential) as never
    try {
      const answer: unknown = await withinTime(clock, timeoutMs, 'authorize', () =>
        authorize(who, copyOf(request)),
      )
      return answer === true
    } catch (error) {
      onError(error)
      throw new AskbackError('forbidden', 'It could not be checked whether you may do this. Try again later.')
    }
  }
}

async function inParallel<T>(items: readonly T[], check: (item: T) => Promise<boolean>): Promise<boolean[]> {
  const results: boolean[] = []
  let next = 0
  const work = async () => {
    while (next < items.length) {
      const index = next++
      results[index] = await check(items[index]!)
    }
  }
  try {
    await Promise.all(Array.from({ length: Math.min(CONCURRENT_CHECKS, items.length) }, work))
  } finally {
    // After a failure nobody waits for the rest.
    next = items.length
  }
  return results
}

const REFUSALS: Record<SessionAction | 'create', string> = {
  read: 'You may not see this session.',
  ask: 'You may not ask in this session.',
  answer: 'You may not answer in this session.',
  message: 'You may not write to this session.',
  manage: 'You may not change how this session runs.',
  delete: 'You may not delete this session.',
  create: 'You may not create such a session.',
}

/** The same sentence as for a session that does not exist. */
function noSession(sessionId: string): AskbackError {
  return new AskbackError('not_found', `There is no session ${sessionId}.`)
}

/** The token of a session's own agent is for that session, whatever `authorize` says of others. */
function isOwnSession(credential: Credential, sessionId: string): boolean {
  return credential.kind === 'agent' && credential.sessionId !== null && credential.sessionId === sessionId
}

/** Who `authorize` is asked about: the embedder's own object, or what Askback knows of the holder of its token. */
function actorOf(credential: Credential): AuthenticatedActor {
  if (credential.external) return credential.external.actor
  if (credential.kind === 'agent') return { id: credential.id, role: 'agent' }
  const { id, name } = credential.by
  return { id, ...(name !== undefined && { name }), role: 'person' }
}

function accessSession({ id, agent, title, cwd, permissionMode, tags = {} }: Session): AccessSession {
  return { id, agent, title, cwd, permissionMode, tags }
}

/** The tags of a session that an actor creates. */
export function newTags(credential: Credential, tags: SessionTags | undefined): SessionTags | undefined {
  const own = credential.external?.actor.tags
  return own ? { ...tags, ...own } : tags
}

/** `authorize` may not change what is stored or asked next. */
function copyOf(request: AccessRequest): AccessRequest {
  if (!request.session) return request
  return { ...request, session: { ...request.session, tags: { ...request.session.tags } } }
}
