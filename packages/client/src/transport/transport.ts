import {
  AskbackError,
  canonicalJson,
  copyJson,
  interactionInError,
  type CreateSessionBody,
  type Interaction,
  type Json,
  type KindDescription,
  type KindPromptResult,
  type LiveEvent,
  type MessageBody,
  type MessageRoute,
  type PermissionMode,
  type Session,
  type SessionEvent,
  type SessionStateJson,
} from '@askback/protocol'

export type { MessageRoute }

/**
 * How a client reaches sessions: over HTTP, over a WebSocket, or in the same process. Everything it throws is an
 * `AskbackError`, with the same codes on every transport. Writes carry an idempotency key, so a transport repeats them
 * without harm when a reply is lost. The conformance suite in `@askback/client/testing` holds every transport to this.
 */
export interface Transport {
  /** The agent adapters of the gateway, and whether each can run. */
  agents(): Promise<AgentInfo[]>
  /**
   * Whether an agent of the gateway can work in a folder: its whole path, and a sentence that says why not. `null` if this gateway does not
   * tell.
   */
  folder?(path: string): Promise<FolderInfo | null>
  /** A page of sessions, newest first. */
  sessions(query?: PageQuery): Promise<{ sessions: Session[]; next: string | null }>
  create(body?: CreateSessionBody, options?: CallOptions): Promise<Session>
  snapshot(sessionId: string): Promise<SessionSnapshot>
  /**
   * The events after a cursor, and then new ones as they happen, until `signal` aborts. It reconnects by itself. An event may
   * come twice or early. The stream ends after `resync`. It throws `unauthorized`, `forbidden` or `not_found` if trying again
   * would not help.
   */
  events(sessionId: string, after: Cursor | number, signal?: AbortSignal): AsyncIterable<StreamItem>
  /** A page of the log, in ascending order; `next` continues in the direction of the query. */
  history(sessionId: string, query?: HistoryQuery): Promise<{ events: SessionEvent[]; next: number | null }>
  /** Sends a text. Text routing decides whether it answers something pending or goes to the agent; the result says which. */
  send(sessionId: string, message: string | MessageBody, options?: CallOptions): Promise<MessageRoute>
  /**
   * Settles an interaction. If it was settled before with the same answer, that counts as success (L3): the reply to the
   * first attempt was lost.
   */
  respond(input: RespondInput, options?: CallOptions): Promise<SettleResult>
  /**
   * The form for an interaction of a custom kind that has no renderer here, or why it cannot be answered. A transport without it shows such
   * a request as JSON.
   */
  prompt?(sessionId: string, interactionId: string): Promise<KindPromptResult>
  /** The kinds that can be asked in addition to the built-in ones. A transport without it knows of none. */
  kinds?(): Promise<KindDescription[]>
  cancel(sessionId: string, interactionId: string, options?: CallOptions): Promise<Interaction>
  interrupt(sessionId: string, options?: CallOptions): Promise<void>
  clear(sessionId: string, options?: CallOptions): Promise<void>
  setPermissionMode(sessionId: string, mode: PermissionMode, options?: CallOptions): Promise<void>
  /** Ends the session and erases its log. */
  remove(sessionId: string, options?: CallOptions): Promise<void>
  /** A page of everything pending in all sessions, oldest first. */
  inbox(query?: PageQuery): Promise<InboxPage>
  /** Interaction and status events of all sessions, from now on. Events that were missed while offline are not sent later. */
  changes(signal?: AbortSignal): AsyncIterable<ChangeItem>
  /** Ends all waits between attempts: call it when the network may be back. */
  retryNow(): void
  /**
   * Checks whether the gateway still answers, and reconnects the streams if it does not: call it when the network may be gone.
   * Otherwise a stream notices only when it has been silent for too long.
   */
  verifyConnection?(): void
  /** Ends all streams. */
  close(): void
}

/** An agent that the gateway can run, or why it cannot. */
export interface AgentInfo {
  id: string
  name: string
  available: boolean
  /** What is missing, in one line, if it is not available. */
  reason?: string
}

/** A folder of the machine of the gateway. */
export interface FolderInfo {
  path: string
  /** Why no agent can work there; `null` if one can. */
  problem: string | null
}

/** Selects a page of a list. */
export interface PageQuery {
  /** The `next` of the page before. */
  after?: string
  limit?: number
}

/** Selects a part of a log. */
export interface HistoryQuery {
  after?: number
  /** Exclusive. With it, pages go backwards. */
  before?: number
  limit?: number
}

/** A session as it is now, and where its events go on. */
export interface SessionSnapshot {
  session: Session
  state: SessionStateJson
  seq: number
  /** Server time, in epoch milliseconds. */
  now: number
  logId: string
  /** The unfinished blocks so far. */
  live: LiveEvent[]
}

/** A position in a log. With `logId` it cannot be mistaken for a position in another log of the same session id. */
export interface Cursor {
  seq: number
  logId?: string
}

/** What a stream of a session brings. */
export type StreamItem =
  | { type: 'event'; event: SessionEvent }
  | { type: 'live'; event: LiveEvent }
  | ConnectionChange
  /** The cursor does not belong to this log: take a new snapshot. */
  | { type: 'resync' }

/** A change in any session: an event, or a session that is gone. */
export type ChangeItem =
  | { type: 'event'; event: SessionEvent }
  /** The session was deleted. Where gateways share a store, its last events may not have been sent. */
  | { type: 'gone'; sessionId: string }
  | ConnectionChange

/** A change of the connection to the gateway. */
export type ConnectionChange =
  | { type: 'connection'; status: 'live' }
  /** The transport tries to reconnect. */
  | { type: 'connection'; status: 'offline'; error: unknown }

/** The options of a call. */
export interface CallOptions {
  /**
   * Makes repeated calls count once. The transport uses it for its own retries as well.
   *
   * @default a random key for each call
   */
  idempotencyKey?: string
  signal?: AbortSignal
}

/** A page of what is pending. */
export interface InboxPage {
  interactions: Interaction[]
  next: string | null
  /** How many are pending, on all pages. */
  total: number
  /** How many are pending in each session, on all pages; sessions without any are left out. */
  perSession: Record<string, number>
}

/** An answer, and the interaction that it is for. */
export interface RespondInput {
  sessionId: string
  interactionId: string
  answer: Json
  /** The digest of the request that was shown. The answer is refused if the interaction has another one. */
  digest?: string
  /**
   * For a caller that knows the tool call but not which request the person has seen: the answer is refused as `ambiguous` if
   * the call has had requests with different digests and `digest` does not say which.
   */
  toolCallId?: string
}

/** A settled interaction, and the events that settled it. */
export interface SettleResult {
  interaction: Interaction
  /** What this call appended to the log, as far as it is known. */
  events: SessionEvent[]
}

// What the transports share.

/** The cursor for a `seq`. */
export function cursorOf(after: Cursor | number): Cursor {
  return typeof after === 'number' ? { seq: after } : after
}

/** The body for a text. */
export function messageOf(message: string | MessageBody): MessageBody {
  return typeof message === 'string' ? { text: message } : message
}

/**
 * If an answer was refused because the interaction is settled, and it was settled with this very answer, the result of that
 * earlier attempt (L3); else `null`.
 */
export function alreadyAnswered(error: unknown, answer: Json): SettleResult | null {
  if (!(error instanceof AskbackError) || error.code !== 'already_settled') return null
  const winner = interactionInError(error)
  if (winner?.answer === undefined) return null
  const isSameAnswer = canonicalJson(winner.answer) === canonicalJson(copyJson(answer))
  return isSameAnswer ? { interaction: winner, events: [] } : null
}

/** An idempotency key that nobody can guess. Browsers have `crypto.randomUUID` in secure contexts only. */
export function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
