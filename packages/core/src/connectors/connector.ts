import type {
  Actor,
  CreateSessionBody,
  Interaction,
  Json,
  MessageBody,
  PermissionMode,
  Session,
  SessionEvent,
  Via,
  Routed,
} from '@askback/protocol'
import type { Origin } from '../desk/desk-options.js'
import type { Change, Kv } from '../store/store.js'
import type { Card, ClosedCard } from './connector-card.js'

/**
 * A surface that shows one thing at a time and takes choices and texts. What it throws as `unavailable` or `rate_limited`
 * (with `details.retryAfterMs`, if it knows) is tried again; anything else is reported and given up.
 */
export interface Connector {
  /** Names its records in the store. */
  readonly id: string
  /** What the log says that answers came by. */
  readonly via: Via
  /** From here on what people do is told to `line`. */
  start(line: ConnectorLine): Promise<void>
  /** Resolves to whatever finds it again, also after a restart. */
  show(place: string, card: Card): Promise<Json>
  /** The same card, after a choice or while a text is waited for. Resolves to whatever finds it now. */
  update(place: string, shown: Json, card: Card): Promise<Json>
  /** Its controls go, and it says how it came out. One that is gone already is no error. */
  close(place: string, shown: Json, closed: ClosedCard): Promise<void>
  say(place: string, text: string): Promise<void>
  /** What else happens in a session that this place looks at. */
  hear?(place: string, event: SessionEvent): Promise<void>
  stop(): Promise<void>
}

/** Where a connector shows things: a chat, a terminal. */
export interface Place {
  id: string
  /** Whose interactions are shown there. */
  sessions: 'all' | string[]
  /** The session that a text goes to when nothing waits. */
  current?: string
  /** The people who connected it, by their ids: it goes when the last of them does. Not set for one that is configured. */
  pairedBy?: string[]
}

/** What a connector tells of what people do. It has made sure who they are. */
export interface ConnectorLine {
  readonly desk: ConnectorDesk
  readonly via: Via
  /** A control of a card. Never throws for what a person can do: a stale or double tap is told so. */
  tap(input: { place: string; cardId: string; control: string; by: Actor }): Promise<Told>
  /**
   * A text, for the card it replies to, for the agent, where nothing was shown that would take it, or for whatever does.
   * `key` makes a repeated one count once.
   */
  text(input: {
    place: string
    text: string
    by: Actor
    replyTo?: string
    route?: 'agent'
    key?: string
  }): Promise<Told>
  /** The open card that stands there, by what `show` resolved to. */
  findCard(place: string, isIt: (shown: Json) => boolean): string | undefined
  places(): Place[]
  /** Resolves when what waits is shown there. `null` forgets the place. */
  setPlace(id: string, place: Omit<Place, 'id'> | null): Promise<void>
  /** Shows what waits there once more, at the end. Resolves to how many. */
  showAgain(place: string): Promise<number>
}

export interface Told {
  /** Whether it did something. */
  ok: boolean
  text: string
}

/** The desk as a connector reaches it, in process or over a transport. */
export interface ConnectorDesk {
  readonly kv: Kv
  head(): Promise<string>
  /** In commit order, after a cursor. */
  changes(query: { after: string; limit: number }): Promise<Change[]>
  onAppend(listener: () => void): () => void
  pending(): Promise<Interaction[]>
  interaction(sessionId: string, interactionId: string): Promise<Interaction>
  respond(
    input: Origin & { sessionId: string; interactionId: string; answer: Json; digest: string },
  ): Promise<unknown>
  progress(input: { sessionId: string; interactionId: string; answers: Json[] }): Promise<unknown>
  message(input: Origin & MessageBody & { sessionId: string; by: Actor }): Promise<Routed>
  session(sessionId: string): Promise<Session | null>
  /** Newest first. */
  sessions(limit: number): Promise<Session[]>
  createSession(body: CreateSessionBody & Origin): Promise<Session>
  interrupt(sessionId: string, origin: Origin): Promise<void>
  clear(sessionId: string, origin: Origin): Promise<void>
  setPermissionMode(sessionId: string, mode: PermissionMode, origin: Origin): Promise<void>
}
