import type { Change, Host, Kv, PersonCaller, Repeatable, Store } from '@askback/core'
import {
  AskbackError,
  type CreateSessionBody,
  type Interaction,
  type Json,
  type KindPromptResult,
  type MessageBody,
  type MessageRoute,
  type PermissionMode,
  type Session,
  type SessionTags,
} from '@askback/protocol'
import { taggedDesk } from './tagged-desk.js'

/** What connectors need of a desk, which runs in this process or is reached over HTTP. */
export interface ConnectorDesk {
  /** Stores the records of a connector. */
  readonly kv: Kv
  /** Set if the desk has only some of the sessions: one that is gone may have got other tags. */
  readonly isPartial?: true
  /** The cursor of the newest change. */
  head(): Promise<string>
  /** The changes of all sessions after a cursor, in commit order. A page may be shorter than `limit` before the end. */
  changes(query: { after: string; limit: number }): Promise<Change[]>
  /** Calls the listener when there may be new changes. Returns a function that ends this. */
  onAppend(listener: () => void): () => void
  pending(): Promise<Interaction[]>
  /** Throws `not_found` if the session was deleted. */
  interaction(sessionId: string, interactionId: string): Promise<Interaction>
  /** The form for an interaction of a custom kind, or why it cannot be answered. */
  prompt(sessionId: string, interactionId: string): Promise<KindPromptResult>
  session(sessionId: string): Promise<Session | null>
  /** Newest first. */
  sessions(limit: number): Promise<Session[]>
  /** What a person does on the surface of the connector. */
  as(person: PersonCaller): PersonActions
}

/** What a person can do through a connector. */
export interface PersonActions {
  respond(input: { sessionId: string; interactionId: string; answer: Json; digest: string }): Promise<unknown>
  progress(input: { sessionId: string; interactionId: string; answers: Json[] }): Promise<unknown>
  message(input: Repeatable & MessageBody & { sessionId: string }): Promise<MessageRoute>
  createSession(body: CreateSessionBody & Repeatable): Promise<Session>
  interrupt(sessionId: string, options: Repeatable): Promise<void>
  clear(sessionId: string, options: Repeatable): Promise<void>
  setPermissionMode(sessionId: string, mode: PermissionMode, options: Repeatable): Promise<void>
}

const PENDING_PAGE = 500

/** The options of a desk for connectors. */
export interface ConnectorDeskOptions {
  /**
   * The sessions that people see through the connector: all of them, or those that have all of these tags. All others do not exist
   * there: they are neither shown nor listed, and cannot be written to. New sessions get the tags.
   */
  sessions: 'all' | { tags: SessionTags }
}

/**
 * The desk and the host of this process, for connectors. `authorize` of an embedded gateway is not asked here, because people in a chat
 * are not signed in to the embedder's product: a server with several tenants runs a connector for each, with its own `id`.
 *
 * @example
 * const desk = connectorDesk(host, store, { sessions: { tags: { tenant: 'acme' } } })
 * const running = runConnector({ connector, desk, onError: console.error })
 */
export function connectorDesk(host: Host, store: Store, options: ConnectorDeskOptions): ConnectorDesk {
  // Without types, forgetting it would show the requests of all tenants.
  const { sessions } = options ?? {}
  if (sessions === 'all') return allSessions(host, store)
  if (sessions?.tags && Object.keys(sessions.tags).length > 0)
    return taggedDesk(allSessions(host, store), store, sessions.tags)
  throw new AskbackError(
    'invalid_request',
    "connectorDesk() needs to know what the connector may show: { sessions: 'all' }, or { sessions: { tags } } with at least one tag.",
  )
}

function allSessions(host: Host, store: Store): ConnectorDesk {
  const { desk } = host
  return {
    kv: store.kv,
    head: () => store.head(),
    changes: (query) => store.changes(query),
    onAppend: (listener) => store.onAppend(listener),
    async pending() {
      const all: Interaction[] = []
      let after: string | undefined
      do {
        const page = await desk.pending({ limit: PENDING_PAGE, ...(after !== undefined && { after }) })
        all.push(...page.interactions)
        after = page.next ?? undefined
      } while (after !== undefined)
      return all
    },
    interaction: (sessionId, interactionId) => desk.interaction(sessionId, interactionId),
    prompt: (sessionId, interactionId) => desk.prompt(sessionId, interactionId),
    async session(sessionId) {
      try {
        return (await desk.snapshot(sessionId)).session
      } catch (error) {
        if (error instanceof AskbackError && error.code === 'not_found') return null
        throw error
      }
    },
    sessions: async (limit) => (await desk.sessions({ limit })).items,
    as(person) {
      const bound = host.as(person)
      return {
        respond: (input) => bound.desk.respond(input),
        progress: (input) => bound.desk.progress(input),
        message: (input) => bound.message(input),
        createSession: async (body) => (await bound.createSession(body)).session,
        interrupt: (sessionId, options) => bound.interrupt(sessionId, options),
        clear: (sessionId, options) => bound.clear(sessionId, options),
        setPermissionMode: (sessionId, mode, options) => bound.setPermissionMode(sessionId, mode, options),
      }
    },
  }
}
