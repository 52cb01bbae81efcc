import type { Page } from '@askback/core'
import { AskbackError, type CreateSessionBody, type Session, type SessionTags } from '@askback/protocol'
import type { Credential } from '../credentials/credential.js'
import { newTags, type Authorizer } from './authorizer.js'
import type { SessionAction } from './embedder.js'

/**
 * What one caller may do. Without `authorize`, an actor whom the embedding program has signed in may do everything in all sessions, and
 * nothing to the gateway itself.
 */
export class CallAccess {
  readonly #credential: Credential
  readonly #authorizer: Authorizer | null
  /** The tags of the sessions that were checked. */
  readonly #checked = new Map<string, string>()

  constructor(credential: Credential, authorizer: Authorizer | null) {
    this.#credential = credential
    this.#authorizer = authorizer
  }

  /** Rejects with `not_found` or `forbidden` unless all of these are allowed. */
  async check(sessionId: string, ...actions: SessionAction[]): Promise<void> {
    const session = await this.#authorizer?.check(this.#credential, sessionId, actions)
    if (session) this.#checked.set(sessionId, JSON.stringify(session.tags))
  }

  /** To be called before something is sent that was read after `check`: the session may have got other tags in between. */
  async checkStill(sessionId: string): Promise<void> {
    const checked = this.#checked.get(sessionId)
    if (!this.#authorizer || checked === undefined) return
    const { tags } = await this.#authorizer.describe(sessionId)
    if (JSON.stringify(tags) !== checked) await this.check(sessionId, 'read')
  }

  async checkCreate(body: CreateSessionBody): Promise<void> {
    const { agent = null, title = null, cwd = null, permissionMode = 'default', tags = {} } = body
    const session = { id: null, agent, title, cwd, permissionMode, tags }
    await this.#authorizer?.checkSession(this.#credential, session, ['create'])
  }

  /** Nobody may move a session to where they may not manage it: that would let them into, or take from, another tenant. */
  async checkNewTags(sessionId: string, tags: SessionTags): Promise<void> {
    if (!this.#authorizer) return
    const session = await this.#authorizer.describe(sessionId)
    await this.#authorizer.checkSession(this.#credential, { ...session, tags }, ['manage'])
  }

  async checkAdminister(): Promise<void> {
    if (await this.mayAdminister()) return
    throw new AskbackError('forbidden', 'Only somebody who administers this gateway may do this.')
  }

  /** A rule for all sessions also approves in those that the caller may not see. */
  async checkScope(scope: unknown): Promise<void> {
    if (scope !== 'always' || (await this.mayAdminister())) return
    throw new AskbackError('forbidden', 'You may approve this once or for this session, but not for always.')
  }

  async mayAdminister(): Promise<boolean> {
    return this.#authorizer?.mayAdminister(this.#credential) ?? false
  }

  async mayRead(sessionId: string): Promise<boolean> {
    return (await this.readable([sessionId], (id) => id)).length > 0
  }

  /** Those of these items whose session the caller may read. */
  async readable<T>(items: T[], sessionIdOf: (item: T) => string): Promise<T[]> {
    if (!this.#authorizer) return items
    const readable = await this.#authorizer.readable(this.#credential, items.map(sessionIdOf))
    return items.filter((item) => readable.has(sessionIdOf(item)))
  }

  async readableSessions<T extends Session>(sessions: T[]): Promise<T[]> {
    if (!this.#authorizer) return sessions
    const may = await this.#authorizer.readableRows(this.#credential, sessions)
    return sessions.filter((_, index) => may[index])
  }
}

/** `null` if this caller may do everything that the routes allow them. */
export function accessOf(credential: Credential | null, authorizer: Authorizer | null): CallAccess | null {
  if (!credential || (!authorizer && !credential.external)) return null
  return new CallAccess(credential, authorizer)
}

/** The body with the tags that this caller gives to their sessions. */
export function withTags<T extends { tags?: SessionTags | undefined }>(body: T, credential: Credential): T {
  const tags = newTags(credential, body.tags)
  return tags === body.tags ? body : { ...body, tags }
}

/**
 * A page of what the caller may read. Pages are read until it is at least half full, so that a caller who may read little gets no
 * series of empty pages.
 */
export async function readablePage<T>(
  { after, limit }: { after?: string | undefined; limit: number },
  read: (query: { after?: string; limit: number }) => Promise<Page<T>>,
  filter: (items: T[]) => Promise<T[]>,
): Promise<Page<T>> {
  const items: T[] = []
  for (let cursor = after; ;) {
    const page = await read({ ...(cursor !== undefined && { after: cursor }), limit: limit - items.length })
    items.push(...(await filter(page.items)))
    if (page.next === null || items.length * 2 >= limit) return { items, next: page.next }
    cursor = page.next
  }
}
