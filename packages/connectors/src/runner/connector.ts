import type { Actor, Json, SessionEvent, Via } from '@askback/protocol'
import type { ClosedCard, TextCard } from '../cards/card.js'
import type { ConnectorDesk } from './connector-desk.js'

/**
 * A surface that shows one thing at a time and takes choices and texts, such as a chat. `runConnector` calls it. A method that
 * throws `unavailable` or `rate_limited` is called again after a while, or after `details.retryAfterMs` milliseconds if the
 * error has that; any other error is reported, and the call is given up.
 */
export interface Connector {
  /** The prefix of this connector's records in the store. Must stay the same after a restart. */
  readonly id: string
  /** The surface that the log names for answers from here. */
  readonly via: Via
  /** Connects. From now on the connector reports to `context` what people do. */
  start(context: ConnectorContext): Promise<void>
  /** Shows a card. Resolves to a reference under which the connector finds the card again, also after a restart. */
  show(place: string, card: TextCard): Promise<Json>
  /** Draws the same card again after it changed. Resolves to the reference, which may be a new one. */
  update(place: string, shown: Json, card: TextCard): Promise<Json>
  /** Removes the controls of a card and says how it ended. A card that no longer exists is not an error. */
  close(place: string, shown: Json, closed: ClosedCard): Promise<void>
  say(place: string, text: string): Promise<void>
  /** Shows another event of the session that this place has selected. */
  showEvent?(place: string, event: SessionEvent): Promise<void>
  stop(): Promise<void>
}

/** Where a connector shows cards: one chat, or one terminal. */
export interface ConnectorPlace {
  id: string
  /** The sessions whose interactions are shown there. */
  sessions: 'all' | string[]
  /** The selected session: it gets a text that answers nothing. */
  current?: string
  /** Ids of the people who connected this place. It is removed with the last of them. Not set for a configured place. */
  pairedBy?: string[]
}

/** How a connector reports what people do. The connector has authenticated them before. */
export interface ConnectorContext {
  readonly desk: ConnectorDesk
  readonly via: Via
  /** Uses a control of a card. An outdated or repeated tap does not throw; the result says what happened. */
  tap(input: { place: string; cardId: string; control: string; by: Actor }): Promise<InputResult>
  /**
   * Takes a text: for the card `replyTo`, or for the agent if `route` is `agent`, or else for whatever the rules of text
   * routing choose. Texts with the same `key` count once.
   */
  text(input: {
    place: string
    text: string
    by: Actor
    replyTo?: string
    route?: 'agent'
    key?: string
  }): Promise<InputResult>
  /** The id of the open card whose reference, as `show` resolved to it, matches. */
  findCard(place: string, isMatch: (shown: Json) => boolean): string | undefined
  places(): ConnectorPlace[]
  /** Adds or changes a place, and resolves when everything pending is shown there. `null` removes the place. */
  setPlace(id: string, place: Omit<ConnectorPlace, 'id'> | null): Promise<void>
  /** Shows all open cards of a place again, below everything else. Resolves to their number. */
  showAgain(place: string): Promise<number>
}

/** What came of something that a person did. */
export interface InputResult {
  /** Whether it had an effect. */
  ok: boolean
  /** One or two sentences for the person. */
  text: string
}
