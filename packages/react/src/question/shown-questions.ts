import type { Client } from '@askback/client'

/** Where the card of a question stands that is on the page. */
export interface ShownQuestion {
  /** The question that it shows, counted from 0. */
  step: number
  /** The log expects an answer to that question next, and has the answers before it as they stand on the card. */
  matchesLog: boolean
  /** Reads a text as the answer to the question on the card; sends all of them once every question has one. */
  answer: (text: string) => void
}

/** The cards with questions that are on the page, for a composer beside them: both must speak of the same question. */
class ShownQuestions {
  readonly #listeners = new Set<() => void>()
  #cards: ReadonlyMap<string, ShownQuestion> = new Map()

  readonly getSnapshot = (): ReadonlyMap<string, ShownQuestion> => this.#cards

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  add(interactionId: string, card: ShownQuestion): () => void {
    this.#change((cards) => cards.set(interactionId, card))
    return () => {
      if (this.#cards.get(interactionId) === card) this.#change((cards) => cards.delete(interactionId))
    }
  }

  #change(change: (cards: Map<string, ShownQuestion>) => unknown): void {
    const cards = new Map(this.#cards)
    change(cards)
    this.#cards = cards
    for (const listener of this.#listeners) listener()
  }
}

const ofClients = new WeakMap<Client, ShownQuestions>()

export function shownQuestionsOf(client: Client): ShownQuestions {
  let shown = ofClients.get(client)
  if (!shown) ofClients.set(client, (shown = new ShownQuestions()))
  return shown
}
