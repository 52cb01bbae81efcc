import type { Client } from '@askback/client'
import { useEffect, useRef } from 'react'
import { useClient } from '../askback-provider.js'

/** The state of the card of a question that is on the page. */
export interface ShownQuestion {
  /** The question that the card shows, counted from 0. */
  step: number
  /**
   * Whether the log expects an answer to that question next, and has the previous answers as they are on the card.
   */
  matchesLog: boolean
  /**
   * Takes a text as the answer to the question on the card, and sends all answers once every question has one. Throws
   * if the card takes no answer.
   */
  answer: (text: string) => void
}

/** The cards of questions on the page. The composer reads it, so that it and the card refer to the same question. */
class ShownQuestionRegistry {
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

const registries = new WeakMap<Client, ShownQuestionRegistry>()

export function shownQuestionsOf(client: Client): ShownQuestionRegistry {
  let registry = registries.get(client)
  if (!registry) registries.set(client, (registry = new ShownQuestionRegistry()))
  return registry
}

/** Registers the card of a question while it is on the page; `null` while it takes no answer. */
export function useShownQuestion(interactionId: string | null, card: ShownQuestion): void {
  const registry = shownQuestionsOf(useClient())
  const latest = useRef(card)
  useEffect(() => {
    latest.current = card
  })
  const { step, matchesLog } = card
  useEffect(() => {
    if (interactionId === null) return
    return registry.add(interactionId, { step, matchesLog, answer: (text) => latest.current.answer(text) })
  }, [registry, interactionId, step, matchesLog])
}
