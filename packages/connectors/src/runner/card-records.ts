import type { Kv } from '@askback/core'
import type { Json } from '@askback/protocol'
import type { CardView } from '../cards/card.js'
import { overwrite } from '../overwrite.js'
import type { ConnectorPlace } from './connector.js'

/** Which card shows which interaction at which place. Stored: renaming a field would break records of older versions. */
export interface CardRecord {
  cardId: string
  sessionId: string
  interactionId: string
  place: string
  kind: string
  /** The digest of the request as the card shows it. */
  digest: string
  /** The question or field that the card shows. */
  step: number
  view: CardView
  /** What `Connector.show` resolved to; `null` until the card is known to be shown. */
  shown: Json | null
  /** Whether the card on the surface looks as `view` says. */
  drawn: boolean
  order: number
}

/** A person was about to send a text for an interaction that was then settled elsewhere. */
export interface MissedText {
  by: string
  outcome: string
}

/**
 * The state of one connector: its cards, its places and its cursor in the change feed. Everything is held in memory and
 * written to the store on each change, so that after a restart no card is shown twice and none is forgotten.
 */
export class CardRecords {
  /** Ids of cards whose answer was sent from here and is not acknowledged yet. */
  readonly answering = new Set<string>()
  readonly #kv: Kv
  readonly #prefix: string
  readonly #cards = new Map<string, CardRecord>()
  readonly #byCardId = new Map<string, CardRecord>()
  readonly #places = new Map<string, ConnectorPlace>()
  readonly #missedTexts = new Map<string, MissedText>()
  readonly #writes = new Map<string, Promise<void>>()
  #lastOrder = 0

  constructor(kv: Kv, connectorId: string) {
    this.#kv = kv
    this.#prefix = `connector/${connectorId}/`
  }

  /** Reads everything from the store. Resolves to the saved cursor, or `null` at the very first start. */
  async load(): Promise<string | null> {
    let cursor: string | null = null
    for (const { key, value } of await this.#kv.list(this.#prefix)) {
      const name = key.slice(this.#prefix.length)
      if (name === 'cursor') cursor = typeof value === 'string' ? value : null
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only this class writes these keys
      else if (name.startsWith('card/')) this.#remember(value as unknown as CardRecord)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only this class writes these keys
      else if (name.startsWith('place/')) this.#places.set(name.slice(6), value as unknown as ConnectorPlace)
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

  cardsAt(place: string): CardRecord[] {
    return this.cards().filter((record) => record.place === place)
  }

  nextOrder(): number {
    return ++this.#lastOrder
  }

  async save(record: CardRecord): Promise<void> {
    const before = this.card(record.interactionId, record.place)
    if (before && before.cardId !== record.cardId) this.#byCardId.delete(before.cardId)
    this.#remember(record)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a record has only JSON; its type is an interface, which has no index signature
    await this.#write(`card/${keyOf(record.interactionId, record.place)}`, record as unknown as Json)
  }

  async remove(record: CardRecord): Promise<void> {
    this.#cards.delete(keyOf(record.interactionId, record.place))
    this.#byCardId.delete(record.cardId)
    this.answering.delete(record.cardId)
    await this.#write(`card/${keyOf(record.interactionId, record.place)}`, null)
  }

  places(): ConnectorPlace[] {
    return [...this.#places.values()]
  }

  place(id: string): ConnectorPlace | undefined {
    return this.#places.get(id)
  }

  async setPlace(id: string, place: Omit<ConnectorPlace, 'id'> | null): Promise<void> {
    if (place) this.#places.set(id, { ...place, id })
    else this.#places.delete(id)
    await this.#write(`place/${id}`, place && { ...place, id })
  }

  setMissedText(place: string, missed: MissedText): void {
    this.#missedTexts.set(place, missed)
  }

  /** Returns and removes it, so that a person is warned once. */
  takeMissedText(place: string, by: string): MissedText | undefined {
    const missed = this.#missedTexts.get(place)
    if (missed?.by !== by) return undefined
    this.#missedTexts.delete(place)
    return missed
  }

  async saveCursor(cursor: string): Promise<void> {
    await this.#write('cursor', cursor)
  }

  #remember(record: CardRecord): void {
    this.#cards.set(keyOf(record.interactionId, record.place), record)
    this.#byCardId.set(record.cardId, record)
    this.#lastOrder = Math.max(this.#lastOrder, record.order)
  }

  /** Writes of the same key run one after the other, so that the last one wins. */
  #write(name: string, value: Json | null): Promise<void> {
    const key = `${this.#prefix}${name}`
    const before = (this.#writes.get(key) ?? Promise.resolve()).catch(() => undefined)
    const write = before.then(() => overwrite(this.#kv, key, value))
    this.#writes.set(key, write)
    const cleanUp = () => {
      if (this.#writes.get(key) === write) this.#writes.delete(key)
    }
    write.then(cleanUp, cleanUp)
    return write
  }
}

function keyOf(interactionId: string, place: string): string {
  return `${interactionId}/${place}`
}
