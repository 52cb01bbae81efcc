import type {
  CreateSessionBody,
  Interaction,
  Json,
  LiveEvent,
  MessageBody,
  PermissionMode,
  Routed,
  Session,
  SessionEvent,
  SessionStateJson,
} from '@askback/protocol'

export type { Routed }

/** How a client reaches sessions. What throws is an `AskbackError`, with the same codes on every transport. */
export interface Transport {
  agents(): Promise<AgentInfo[]>
  /** Newest first. */
  sessions(query?: PageQuery): Promise<{ sessions: Session[]; next: string | null }>
  create(body?: CreateSessionBody, options?: CallOptions): Promise<Session>
  snapshot(sessionId: string): Promise<SessionSnapshot>
  /**
   * What follows a cursor, and then what happens, through lost connections, until `signal` aborts. An event may come twice
   * or early. Ends after `resync`. Throws `unauthorized`, `forbidden` or `not_found` where trying again would not help.
   */
  events(sessionId: string, after: Cursor | number, signal?: AbortSignal): AsyncIterable<StreamItem>
  /** A page of the log, ascending; `next` goes on from it in the same direction. */
  history(sessionId: string, query?: HistoryQuery): Promise<{ events: SessionEvent[]; next: number | null }>
  send(sessionId: string, message: string | MessageBody, options?: CallOptions): Promise<Routed>
  /** Settles an interaction. To find one's own answer there already is success (L3). */
  respond(input: RespondInput, options?: CallOptions): Promise<Settled>
  cancel(sessionId: string, interactionId: string, options?: CallOptions): Promise<Interaction>
  interrupt(sessionId: string, options?: CallOptions): Promise<void>
  clear(sessionId: string, options?: CallOptions): Promise<void>
  setPermissionMode(sessionId: string, mode: PermissionMode, options?: CallOptions): Promise<void>
  /** Ends the session and erases its log. */
  remove(sessionId: string, options?: CallOptions): Promise<void>
  /** Everything pending in every session, oldest first. */
  inbox(query?: PageQuery): Promise<InboxPage>
  /** Interaction and status events of all sessions, from now on. What happened while it was offline is not told later. */
  changes(signal?: AbortSignal): AsyncIterable<ChangeItem>
  /** The network may be back: what waits to try again tries now. */
  wake(): void
  /** The network may be gone: if the gateway no longer answers, its streams say so now, and not when they time out. */
  doubt?(): void
  close(): void
}

export interface AgentInfo {
  id: string
  name: string
  available: boolean
  /** What is missing, in one line. */
  reason?: string
}

export interface PageQuery {
  /** The `next` of the page before. */
  after?: string
  limit?: number
}

export interface HistoryQuery {
  after?: number
  /** Exclusive; pages backwards. */
  before?: number
  limit?: number
}

export interface SessionSnapshot {
  session: Session
  state: SessionStateJson
  seq: number
  /** The server's clock. */
  now: number
  logId: string
  /** The unfinished blocks so far. */
  live: LiveEvent[]
}

/** A place in a log; with `logId` it cannot be mistaken for one in another log of the same session id. */
export interface Cursor {
  seq: number
  logId?: string
}

export type StreamItem =
  | { type: 'event'; event: SessionEvent }
  | { type: 'live'; event: LiveEvent }
  | Connection
  /** The cursor means nothing to this log: take a new snapshot. */
  | { type: 'resync' }

export type ChangeItem = { type: 'event'; event: SessionEvent } | Connection

export type Connection =
  | { type: 'connection'; status: 'live' }
  /** It will be tried again. */
  | { type: 'connection'; status: 'offline'; error: unknown }

export interface CallOptions {
  /** One is made for each call, and kept through the transport's own retries. */
  idempotencyKey?: string
  signal?: AbortSignal
}

export interface InboxPage {
  interactions: Interaction[]
  next: string | null
  /** Of all pages. */
  total: number
  /** Of all pages, by session; sessions in which nothing waits are left out. */
  perSession: Record<string, number>
}

export interface RespondInput {
  sessionId: string
  interactionId: string
  answer: Json
  /** Of the request that was shown. */
  digest?: string
  /**
   * Where only the tool call is known, and not which request was shown: `ambiguous` if that call has held different
   * requests and `digest` does not say which.
   */
  toolCallId?: string
}

export interface Settled {
  interaction: Interaction
  /** What this call appended to the log, as far as it is known. */
  events: SessionEvent[]
}

export function cursorOf(after: Cursor | number): Cursor {
  return typeof after === 'number' ? { seq: after } : after
}

export function messageOf(message: string | MessageBody): MessageBody {
  return typeof message === 'string' ? { text: message } : message
}
