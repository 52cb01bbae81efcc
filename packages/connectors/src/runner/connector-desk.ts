import type { Change, Host, Kv, PersonCaller, Repeatable, Store } from '@askback/core'
import {
  AskbackError,
  type CreateSessionBody,
  type Interaction,
  type Json,
  type MessageBody,
  type MessageRoute,
  type PermissionMode,
  type Session,
} from '@askback/protocol'

/** What connectors need of a desk, which runs in this process or is reached over HTTP. */
export interface ConnectorDesk {
  /** Stores the records of a connector. */
  readonly kv: Kv
  /** The cursor of the newest change. */
  head(): Promise<string>
  /** The changes of all sessions after a cursor, in commit order. A page may be shorter than `limit` before the end. */
  changes(query: { after: string; limit: number }): Promise<Change[]>
  /** Calls the listener when there may be new changes. Returns a function that ends this. */
  onAppend(listener: () => void): () => void
  pending(): Promise<Interaction[]>
  /** Throws `not_found` if the session was deleted. */
  interaction(sessionId: string, interactionId: string): Promise<Interaction>
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

/**
 * The desk and the host of this process, for connectors.
 *
 * @example
 * const running = runConnector({ connector, desk: connectorDesk(host, store), onError: console.error })
 */
export function connectorDesk(host: Host, store: Store): ConnectorDesk {
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
