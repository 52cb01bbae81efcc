import type { Json } from '@askback/protocol'
import type { Kv } from '../store/store.js'
import type { Place } from './connector.js'
import type { CardView } from './connector-card.js'

/** What stands where: the map from a message to the interaction that it shows. */
export interface CardRecord {
  cardId: string
  sessionId: string
  interactionId: string
  place: string
  kind: string
  /** Of the request as it was shown. */
  digest: string
  step: number
  view: CardView
  /** `null` until it is known to stand there. */
  shown: Json | null
  /** Whether it looks as `view` says. */
  drawn: boolean
  order: number
}

/** Somebody was about to send a text when the interaction was settled elsewhere. */
export interface Lapse {
  by: string
  outcome: string
}

/** The durable side of one connector: held in memory, written through, so that a restart neither repeats nor forgets. */
export class ConnectorRecords {
  readonly #kv: Kv
  readonly #prefix: string
  readonly #cards = new Map<string, CardRecord>()
  readonly #byCardId = new Map<string, CardRecord>()
  readonly #places = new Map<string, Place>()
  /** Cards whose answer is on its way from here. */
  readonly answering = new Set<string>()
  readonly #lapses = new Map<string, Lapse>()
  readonly #writes = new Map<string, Promise<void>>()
  #order = 0

  constructor(kv: Kv, connectorId: string) {
    this.#kv = kv
    this.#prefix = `connector/${connectorId}/`
  }

  /** Resolves to the cursor, `null` at the very first start. */
  async load(): Promise<string | null> {
    let cursor: string | null = null
    for (const { key, value } of await this.#kv.list(this.#prefix)) {
      const name = key.slice(this.#prefix.length)
      if (name === 'cursor') cursor = value as string
      else if (name.startsWith('card/')) this.#hold(value as unknown as CardRecord)
      else if (name.startsWith('place/')) this.#places.set(name.slice(6), value as unknown as Place)
    }
    return cursor
  }

  card(interactionId: string, place: string): CardRecord | undefined {
    return this.#cards.get(keyOf(interactionId, place))
  }

  byCardId(cardId: string): CardRecord | undefined {
    return this.#byCardId.get(cardId)
  }

  /** Oldest first. */
  cards(): CardRecord[] {
    return [...this.#cards.values()].sort((a, b) => a.order - b.order)
  }

  nextOrder(): number {
    return ++this.#order
  }

  async save(record: CardRecord): Promise<void> {
    const before = this.card(record.interactionId, record.place)
    if (before && before.cardId !== record.cardId) this.#byCardId.delete(before.cardId)
    this.#hold(record)
    await this.#write(`card/${keyOf(record.interactionId, record.place)}`, record as unknown as Json)
  }

  async forget(record: CardRecord): Promise<void> {
    this.#cards.delete(keyOf(record.interactionId, record.place))
    this.#byCardId.delete(record.cardId)
    this.answering.delete(record.cardId)
    await this.#write(`card/${keyOf(record.interactionId, record.place)}`, null)
  }

  places(): Place[] {
    return [...this.#places.values()]
  }

  place(id: string): Place | undefined {
    return this.#places.get(id)
  }

  async setPlace(id: string, place: Omit<Place, 'id'> | null): Promise<void> {
    if (place) this.#places.set(id, { ...place, id })
    else this.#places.delete(id)
    await this.#write(`place/${id}`, place && { ...place, id })
  }

  setLapse(place: string, lapse: Lapse): void {
    this.#lapses.set(place, lapse)
  }

  takeLapse(place: string, by: string): Lapse | undefined {
    const lapse = this.#lapses.get(place)
    if (lapse?.by !== by) return undefined
    this.#lapses.delete(place)
    return lapse
  }

  async saveCursor(cursor: string): Promise<void> {
    await this.#write('cursor', cursor)
  }

  #hold(record: CardRecord): void {
    this.#cards.set(keyOf(record.interactionId, record.place), record)
    this.#byCardId.set(record.cardId, record)
    this.#order = Math.max(this.#order, record.order)
  }

  /** One after the other for each key, so that the last one wins. */
  #write(name: string, value: Json | null): Promise<void> {
    const key = `${this.#prefix}${name}`
    const write = async () => {
      for (;;) {
        const entry = await this.#kv.get(key)
        if (!entry && value === null) return
        if (await this.#kv.put(key, value, entry?.version ?? null)) return
      }
    }
    const next = (this.#writes.get(key) ?? Promise.resolve()).catch(() => undefined).then(write)
    this.#writes.set(key, next)
    const tidy = () => {
      if (this.#writes.get(key) === next) this.#writes.delete(key)
    }
    next.then(tidy, tidy)
    return next
  }
}

function keyOf(interactionId: string, place: string): string {
  return `${interactionId}/${place}`
}
