import { newId as randomId, jumpAwareClock, type Change, type Clock } from '@askback/core'
import { isBuiltInKind, isCopy, type SessionEvent } from '@askback/protocol'
import { CardDisplay } from './card-display.js'
import { CardInputs } from './card-input.js'
import { CardRecords, type CardRecord } from './card-records.js'
import { ChangeReader } from './change-reader.js'
import type { Connector, ConnectorContext, ConnectorPlace } from './connector.js'
import type { ConnectorDesk } from './connector-desk.js'
import { RetryQueue } from './retry-queue.js'

/** The options of `runConnector`. */
export interface ConnectorOptions {
  connector: Connector
  desk: ConnectorDesk
  /** Called with errors that are not retried. */
  onError: (error: unknown) => void
  /** @default the system's clock */
  clock?: Clock
  /** Makes the ids of cards, which must fit into the data of a button. @default 80 random bits in 16 characters */
  newId?: () => string
  /** How often to look for changes without a doorbell, in milliseconds. @default 5000 */
  pollMs?: number
}

/** A connector that runs until it is closed. */
export interface RunningConnector {
  /** Resolves when the connector has started. What is pending is shown, or about to be. */
  readonly ready: Promise<void>
  readonly context: ConnectorContext
  stop(): Promise<void>
}

/** One interaction at one place. */
interface CardTarget {
  sessionId: string
  interactionId: string
  place: string
}

/**
 * Shows the pending interactions of a desk on a surface, closes their cards when they are settled anywhere, and sends what
 * people do there to the desk. It continues where its last process stopped. Errors go to `onError`; a failed start also
 * rejects `ready`.
 *
 * @example
 * const desk = connectorDesk(host, store, { sessions: 'all' })
 * const running = runConnector({ connector, desk, onError: console.error })
 * await running.ready
 * await running.context.setPlace('chat-1', { sessions: 'all' })
 */
export function runConnector(options: ConnectorOptions): RunningConnector {
  return new ConnectorRunner(options)
}

class ConnectorRunner implements RunningConnector {
  readonly ready: Promise<void>
  readonly context: ConnectorContext
  readonly #connector: Connector
  readonly #desk: ConnectorDesk
  readonly #records: CardRecords
  readonly #display: CardDisplay
  readonly #queue: RetryQueue
  readonly #reader: ChangeReader
  #isStopped = false

  constructor(options: ConnectorOptions) {
    const { connector, desk, onError, clock = jumpAwareClock, newId = shortId, pollMs = 5000 } = options
    const records = new CardRecords(desk.kv, connector.id)
    this.#connector = connector
    this.#desk = desk
    this.#records = records
    this.#display = new CardDisplay({ connector, desk, records, newId })
    this.#queue = new RetryQueue(clock, onError)
    this.#reader = new ChangeReader({
      desk,
      clock,
      pollMs,
      handle: (change) => this.#handle(change),
      saveCursor: (cursor) => records.saveCursor(cursor),
      onError,
    })
    this.context = this.#createContext()
    this.ready = this.#start()
    this.ready.catch(onError)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    const readingEnded = this.#reader.stop()
    await this.#connector.stop()
    await readingEnded
    await this.#queue.stop()
    await this.#reader.flush()
  }

  #createContext(): ConnectorContext {
    const connector = this.#connector
    const desk = this.#desk
    const records = this.#records
    const refresh = (record: CardRecord) => void this.#reconcile(record)
    const inputs = new CardInputs({ connector, desk, records, display: this.#display, refresh })
    return {
      desk,
      via: connector.via,
      tap: (input) => inputs.tap(input),
      text: (input) => inputs.text(input),
      findCard: (place, isMatch) =>
        records.cardsAt(place).find(({ shown }) => shown !== null && isMatch(shown))?.cardId,
      places: () => records.places(),
      setPlace: async (id, place) => {
        await records.setPlace(id, place)
        if (place) await Promise.all(await this.#showPending([{ ...place, id }]))
        else for (const record of records.cardsAt(id)) refresh(record)
      },
      showAgain: async (place) => {
        const cards = records.cardsAt(place)
        for (const record of cards)
          void this.#queue.add(queueKey(record), () => this.#display.showAgain(record))
        return cards.length
      },
    }
  }

  async #start(): Promise<void> {
    const saved = await this.#records.load()
    const cursor = saved ?? (await this.#desk.head())
    if (saved === null) await this.#records.saveCursor(cursor)
    if (this.#isStopped) return
    await this.#connector.start(this.context)
    // Cards may have been settled, and interactions opened, while no process ran.
    for (const record of this.#records.cards()) {
      // The settings may have changed: the definition of its kind may be gone, or there again.
      if (!isBuiltInKind(record.kind)) await this.#records.save({ ...record, drawn: false })
      void this.#reconcile(record)
    }
    void Promise.all(await this.#showPending(this.#records.places()))
    this.#reader.start(cursor)
  }

  /** Of all sessions, or of one. */
  async #showPending(places: ConnectorPlace[], only?: string): Promise<Promise<boolean>[]> {
    if (places.length === 0) return []
    const all = await this.#desk.pending()
    const pending = only === undefined ? all : all.filter(({ sessionId }) => sessionId === only)
    return pending.flatMap(({ sessionId, interactionId }) =>
      places
        .filter((place) => showsSession(place, sessionId))
        .map((place) => this.#reconcile({ sessionId, interactionId, place: place.id })),
    )
  }

  #handle({ sessionId, events }: Change): Promise<boolean>[] {
    // A change without events is an erasure: the events that settled these interactions may be gone with the log.
    if (events.length === 0) return this.#reconcileSession(sessionId)
    const places = this.#records.places()
    const touched = new Set(events.flatMap(interactionIn))
    const cards = [...touched].flatMap((interactionId) => {
      const alreadyShown = places.filter(({ id }) => this.#records.card(interactionId, id))
      const all = new Set([...places.filter((place) => showsSession(place, sessionId)), ...alreadyShown])
      return [...all].map((place) => this.#reconcile({ sessionId, interactionId, place: place.id }))
    })
    const viewers = places.filter(({ current }) => current === sessionId)
    const shown = viewers.flatMap(({ id }) => this.#showEvents(id, events))
    // With these tags the session may have come to the desk, with what was asked before.
    if (events.some(({ type }) => type === 'session_tags')) shown.push(this.#showSession(sessionId))
    return [...shown, ...cards]
  }

  #showSession(sessionId: string): Promise<boolean> {
    return this.#queue.add(`session/${sessionId}`, async () => {
      const places = this.#records.places()
      for (const reconciled of await this.#showPending(places, sessionId)) void reconciled
    })
  }

  #showEvents(place: string, events: SessionEvent[]): Promise<boolean>[] {
    const connector = this.#connector
    if (!connector.showEvent) return []
    return events
      .filter((event) => !event.type.startsWith('interaction_'))
      .map((event) => this.#queue.add(`events/${place}`, async () => connector.showEvent?.(place, event)))
  }

  #reconcileSession(sessionId: string): Promise<boolean>[] {
    const shown = this.#records.cards().filter((record) => record.sessionId === sessionId)
    return shown.map((record) => this.#reconcile(record))
  }

  #reconcile({ sessionId, interactionId, place }: CardTarget): Promise<boolean> {
    return this.#queue.runLatest(queueKey({ interactionId, place }), () =>
      this.#display.reconcile(sessionId, interactionId, place),
    )
  }
}

function queueKey({ interactionId, place }: { interactionId: string; place: string }): string {
  return `card/${interactionId}/${place}`
}

function showsSession({ sessions }: ConnectorPlace, sessionId: string): boolean {
  return sessions === 'all' || sessions.includes(sessionId)
}

function interactionIn(event: SessionEvent): string[] {
  if (isCopy(event)) return []
  switch (event.type) {
    case 'interaction_request':
    // The state of "pending" changes with this event, which may be in another change than the response.
    case 'interaction_pending':
    case 'interaction_progress':
    case 'interaction_response':
      return [event.interactionId]
    default:
      return []
  }
}

/** 80 random bits suffice: an id is only looked up among the open cards of one place. */
function shortId(): string {
  return randomId()
    .replace(/[^a-z0-9]/gi, '')
    .slice(-16)
}
