import type {
  Actor,
  CreateSessionBody,
  Interaction,
  KindPromptResult,
  LiveEvent,
  MessageBody,
  PermissionMode,
  Repeatable,
  Session,
  SessionEvent,
  Via,
} from '@askback/protocol'
import type {
  AgentInfo,
  InboxPage,
  MessageRoute,
  RespondInput,
  SessionSnapshot,
  SettleResult,
} from './transport.js'

/**
 * The part of a host that `DirectTransport` uses. The host of `@askback/core` satisfies it. It is declared here so that this
 * package does not depend on `core`, which clients of a gateway do not need.
 */
export interface DirectHost {
  readonly desk: DirectDesk
  agents(): Promise<AgentInfo[]>
  snapshot(sessionId: string): Promise<SessionSnapshot>
  /** The host for one person, in whose name it acts. */
  as(person: { by: Actor; via: Via }): DirectPerson
  /** The unfinished blocks so far. */
  liveBlocks(sessionId: string): LiveEvent[]
  /** Calls `listener` for the live events of all sessions, until the returned function is called. */
  onLive(listener: (live: { sessionId: string; event: LiveEvent }) => void): () => void
}

/** What one person does on a host. */
export interface DirectPerson {
  readonly desk: {
    respond(input: Repeatable & RespondInput): Promise<SettleResult>
    cancel(
      input: Repeatable & { sessionId: string; interactionId: string },
    ): Promise<{ interaction: Interaction }>
  }
  createSession(body: CreateSessionBody & Repeatable): Promise<{ session: Session }>
  message(input: Repeatable & MessageBody & { sessionId: string }): Promise<MessageRoute>
  interrupt(sessionId: string, options: Repeatable): Promise<void>
  clear(sessionId: string, options: Repeatable): Promise<void>
  setPermissionMode(sessionId: string, mode: PermissionMode, options: Repeatable): Promise<void>
  deleteSession(sessionId: string, options: Repeatable): Promise<void>
}

/** The part of a desk that a transport in the same process uses. */
export interface DirectDesk {
  events(
    sessionId: string,
    query: { after?: number; before?: number; limit: number },
  ): Promise<SessionEvent[]>
  prompt(sessionId: string, interactionId: string): Promise<KindPromptResult>
  inbox(query: { after?: string; limit?: number }): Promise<InboxPage>
  sessions(query: { after?: string; limit?: number }): Promise<{ items: Session[]; next: string | null }>
  /** Passes every durable event of a session after the returned head to the follower, without gaps. */
  follow(
    sessionId: string,
    follower: { advanced(advance: { events: SessionEvent[] }): void; gone(): void },
  ): Promise<{ head: { logId: string; seq: number }; stop: () => void }>
  /** Calls `listener` with the durable events of all sessions, from now on, and `gone` when a session is deleted. */
  followAll(
    listener: (events: SessionEvent[]) => void,
    gone: (sessionId: string) => void,
  ): Promise<() => void>
  /** Checks whether the log that is followed still exists; if not, followers get `gone` before this resolves. */
  refresh(sessionId: string): Promise<void>
}
