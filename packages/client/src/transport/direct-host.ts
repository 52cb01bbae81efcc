import type {
  Actor,
  CreateSessionBody,
  Interaction,
  LiveEvent,
  MessageBody,
  PermissionMode,
  Session,
  SessionEvent,
  Via,
} from '@askback/protocol'
import type { AgentInfo, InboxPage, RespondInput, Routed, SessionSnapshot, Settled } from './transport.js'

interface Origin {
  by?: Actor
  via?: Via
  idempotencyKey?: string
}

/** What the in-process transport needs of a host; that of `@askback/core` is one. */
export interface DirectHost {
  readonly desk: DirectDesk
  agents(): Promise<AgentInfo[]>
  createSession(body: CreateSessionBody & Origin): Promise<{ session: Session }>
  snapshot(sessionId: string): Promise<SessionSnapshot>
  message(input: Origin & MessageBody & { sessionId: string; by: Actor }): Promise<Routed>
  interrupt(sessionId: string, origin: Origin): Promise<void>
  clear(sessionId: string, origin: Origin): Promise<void>
  setPermissionMode(sessionId: string, mode: PermissionMode, origin: Origin): Promise<void>
  deleteSession(sessionId: string, origin: Origin): Promise<void>
  liveBlocks(sessionId: string): LiveEvent[]
  onLive(listener: (live: { sessionId: string; event: LiveEvent }) => void): () => void
}

export interface DirectDesk {
  respond(input: Origin & RespondInput): Promise<Settled>
  cancel(input: Origin & { sessionId: string; interactionId: string }): Promise<{ interaction: Interaction }>
  events(
    sessionId: string,
    query: { after?: number; before?: number; limit: number },
  ): Promise<SessionEvent[]>
  inbox(query: { after?: string; limit?: number }): Promise<InboxPage>
  sessions(query: { after?: string; limit?: number }): Promise<{ items: Session[]; next: string | null }>
  /** Tells every durable event of a session after the returned head, without gaps. */
  follow(
    sessionId: string,
    follower: { advanced(advance: { events: SessionEvent[] }): void; gone(): void },
  ): Promise<{ head: { logId: string; seq: number }; stop: () => void }>
  /** Tells what becomes durable in all sessions from now on. */
  followAll(listener: (events: SessionEvent[]) => void): Promise<() => void>
  /** Looks whether the log that is followed is still there. */
  refresh(sessionId: string): Promise<void>
}
