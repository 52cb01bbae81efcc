import { isCopy, type SessionEvent } from '@askback/protocol'
import { systemClock, type Clock } from '../clock.js'
import { newId as randomId } from '../ids.js'
import type { Change } from '../store/store.js'
import type { Connector, ConnectorDesk, ConnectorLine, Place } from './connector.js'
import { ConnectorCards } from './connector-cards.js'
import { ConnectorCursor } from './connector-cursor.js'
import { ConnectorInput } from './connector-input.js'
import { ConnectorJobs } from './connector-jobs.js'
import { ConnectorRecords, type CardRecord } from './connector-records.js'

export interface ConnectorOptions {
  connector: Connector
  desk: ConnectorDesk
  onError: (error: unknown) => void
  clock?: Clock
  /** Of a card: short enough for a button. */
  newId?: () => string
  /** How often it looks by itself: a lost doorbell costs time, never a message. */
  pollMs?: number
}

export interface RunningConnector {
  /** What waits is shown, or on its way. */
  readonly ready: Promise<void>
  readonly line: ConnectorLine
  stop(): Promise<void>
}

const PAGE = 200
const MOST_OUTSTANDING = 1000

/** Keeps a surface in step with the log, from where it was when it last ran. */
export function runConnector(options: ConnectorOptions): RunningConnector {
  return new ConnectorRunner(options)
}

class ConnectorRunner implements RunningConnector {
  readonly ready: Promise<void>
  readonly line: ConnectorLine
  readonly #options: Required<Omit<ConnectorOptions, 'newId'>>
  readonly #records: ConnectorRecords
  readonly #cards: ConnectorCards
  readonly #jobs: ConnectorJobs
  readonly #cursor: ConnectorCursor
  #read = ''
  #reading: Promise<void> | null = null
  #again = false
  #stopped = false
  #disarm: () => void = () => undefined
  #stopListening: () => void = () => undefined

  constructor(options: ConnectorOptions) {
    const { connector, desk, onError, clock = systemClock, newId = shortId, pollMs = 5000 } = options
    this.#options = { connector, desk, onError, clock, pollMs }
    this.#records = new ConnectorRecords(desk.kv, connector.id)
    this.#cards = new ConnectorCards({ connector, desk, records: this.#records, newId })
    this.#jobs = new ConnectorJobs(clock, onError)
    this.#cursor = new ConnectorCursor(clock, (cursor) => this.#records.saveCursor(cursor), onError)
    this.line = this.#makeLine()
    this.ready = this.#start()
    this.ready.catch(onError)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#disarm()
    this.#stopListening()
    await this.#options.connector.stop()
    await this.#reading
    await this.#jobs.stop()
    await this.#cursor.stop()
  }

  #makeLine(): ConnectorLine {
    const { connector, desk } = this.#options
    const records = this.#records
    const refresh = (record: CardRecord) => void this.#reconcile(record)
    const input = new ConnectorInput({ connector, desk, records, cards: this.#cards, refresh })
    return {
      desk,
      via: connector.via,
      tap: (tapped) => input.tap(tapped),
      text: (sent) => input.text(sent),
      findCard: (place, isIt) =>
        records.cards().find((card) => card.place === place && card.shown !== null && isIt(card.shown))
          ?.cardId,
      places: () => records.places(),
      setPlace: async (id, place) => {
        await records.setPlace(id, place)
        if (place) await Promise.all(await this.#showPending([{ ...place, id }]))
        else for (const card of records.cards()) if (card.place === id) refresh(card)
      },
      showAgain: async (place) => {
        const here = records.cards().filter((record) => record.place === place)
        for (const record of here) void this.#jobs.queue(keyOf(record), () => this.#cards.showAgain(record))
        return here.length
      },
    }
  }

  async #start(): Promise<void> {
    const { connector, desk } = this.#options
    const cursor = await this.#records.load()
    this.#read = cursor ?? (await desk.head())
    if (cursor === null) await this.#records.saveCursor(this.#read)
    if (this.#stopped) return
    await connector.start(this.line)
    // What was settled while nobody looked, and what was never seen.
    for (const record of this.#records.cards()) void this.#reconcile(record)
    void Promise.all(await this.#showPending(this.#records.places()))
    this.#stopListening = desk.onAppend(() => this.#wake())
    this.#wake()
  }

  async #showPending(places: Place[]): Promise<Promise<boolean>[]> {
    if (places.length === 0) return []
    const pending = await this.#options.desk.pending()
    return pending.flatMap(({ sessionId, interactionId }) =>
      places
        .filter((place) => follows(place, sessionId))
        .map((place) => this.#reconcile({ sessionId, interactionId, place: place.id })),
    )
  }

  #wake(): void {
    const { clock, pollMs, onError } = this.#options
    this.#again = true
    if (this.#reading || this.#stopped) return
    this.#disarm()
    this.#reading = this.#readOn()
      .catch(onError)
      .finally(() => {
        this.#reading = null
        if (this.#stopped) return
        this.#disarm = clock.alarm(clock.now() + pollMs, () => this.#wake())
      })
  }

  async #readOn(): Promise<void> {
    while (this.#again && !this.#stopped && this.#cursor.outstanding < MOST_OUTSTANDING) {
      this.#again = false
      const changes = await this.#options.desk.changes({ after: this.#read, limit: PAGE })
      for (const change of changes) {
        this.#read = change.cursor
        this.#cursor.add(change.cursor, this.#take(change))
      }
      // A page can be short for other reasons than the end.
      if (changes.length > 0) this.#again = true
    }
  }

  #take({ sessionId, events }: Change): Promise<boolean>[] {
    const { connector } = this.#options
    const places = this.#records.places()
    // An erasure: what was asked there may have ended in a change that is gone with it.
    if (events.length === 0) return this.#reconcileSession(sessionId)
    const touched = new Set(events.flatMap(interactionIn))
    const cards = [...touched].flatMap((interactionId) => {
      const shownAt = places.filter(({ id }) => this.#records.card(interactionId, id))
      const all = new Set([...places.filter((place) => follows(place, sessionId)), ...shownAt])
      return [...all].map((place) => this.#reconcile({ sessionId, interactionId, place: place.id }))
    })
    const looking = places.filter(({ current }) => current === sessionId)
    const heard = looking.flatMap(({ id }) =>
      events
        .filter((event) => connector.hear && !event.type.startsWith('interaction_'))
        .map((event) => this.#jobs.queue(`hear/${id}`, async () => connector.hear?.(id, event))),
    )
    return [...heard, ...cards]
  }

  #reconcileSession(sessionId: string): Promise<boolean>[] {
    const shown = this.#records.cards().filter((record) => record.sessionId === sessionId)
    return shown.map((record) => this.#reconcile(record))
  }

  #reconcile(target: { sessionId: string; interactionId: string; place: string }): Promise<boolean> {
    const { sessionId, interactionId, place } = target
    return this.#jobs.run(keyOf(target), () => this.#cards.reconcile(sessionId, interactionId, place))
  }
}

function keyOf({ interactionId, place }: { interactionId: string; place: string }): string {
  return `card/${interactionId}/${place}`
}

function follows({ sessions }: Place, sessionId: string): boolean {
  return sessions === 'all' || sessions.includes(sessionId)
}

function interactionIn(event: SessionEvent): string[] {
  if (isCopy(event)) return []
  switch (event.type) {
    case 'interaction_request':
    // What is pending follows this one, which may come apart from the response.
    case 'interaction_pending':
    case 'interaction_progress':
    case 'interaction_response':
      return [event.interactionId]
    default:
      return []
  }
}

/** 80 bits: it is looked up among what this connector has shown, in the place it was shown. */
function shortId(): string {
  return randomId()
    .replace(/[^a-z0-9]/gi, '')
    .slice(-16)
}
