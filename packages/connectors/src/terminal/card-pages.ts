import type { Card, Clock } from '@askback/core'
import type { Writable } from 'node:stream'
import { drawCard } from './drawing.js'
import { columnsOf, MORE } from './drawing-controls.js'

/** What is printed before the next thing is asked, and what is offered then. */
export interface Page {
  lines: string[]
  card: Card | null
}

/** For the controls of a card, in lines. */
const ROOM_FOR_CONTROLS = 7
const LEAST_LINES = 5

/**
 * What of a card is drawn. A card that can be approved is shown a screen at a time, and offers to approve only once its last
 * page was drawn. After anything else was printed it is drawn again, so that it is always the last thing on the screen.
 */
export class CardPages {
  readonly #output: Writable
  readonly #clock: Clock
  /** Cards of which every page was drawn, as they looked then. */
  readonly #read = new Map<string, string>()
  #cardId: string | null = null
  #columns = 0
  /** The page that is on the screen: its first line, and the one after its last. */
  #first = 0
  #end = 0
  #isDrawn = false

  constructor(output: Writable, clock: Clock) {
    this.#output = output
    this.#clock = clock
  }

  open(card: Card | null): Page {
    const columns = columnsOf(this.#output)
    // Lines of another width are other lines: what was read of them cannot be told.
    if (card?.cardId !== this.#cardId || columns !== this.#columns) {
      this.#first = 0
      this.#isDrawn = false
    }
    this.#cardId = card?.cardId ?? null
    this.#columns = columns
    if (!card) return { lines: [], card }
    const all = drawCard(card, this.#clock.now(), columns)
    const content = JSON.stringify(card.parts)
    const isPaged =
      card.controls.some(({ role }) => role === 'approve') && this.#read.get(card.cardId) !== content
    const isDrawn = this.#isDrawn
    this.#isDrawn = true
    if (!isPaged) return { lines: isDrawn ? [] : all, card }
    if (!isDrawn) this.#end = Math.min(this.#first + this.#pageLength(), all.length)
    const lines = isDrawn ? [] : all.slice(this.#first, this.#end)
    if (this.#end < all.length) return { lines, card: this.#unread(card, all.length) }
    this.#read.set(card.cardId, content)
    return { lines, card }
  }

  turn(): void {
    this.#first = this.#end
    this.#isDrawn = false
  }

  redraw(): void {
    this.#isDrawn = false
  }

  /** Where there are no rows, nothing leaves the screen. */
  #pageLength(): number {
    const { rows } = this.#output as { rows?: number }
    return rows === undefined ? Infinity : Math.max(rows - ROOM_FOR_CONTROLS, LEAST_LINES)
  }

  /** Nothing in it approves. Each page counts as a card of its own, so that a key that is held turns one page only. */
  #unread(card: Card, all: number): Card {
    return {
      ...card,
      cardId: `${card.cardId}#${this.#end}`,
      controls: [
        { id: MORE, label: `Show more (${this.#end} of ${all} lines shown)`, role: 'more' },
        ...card.controls.filter(({ role }) => role !== 'approve'),
      ],
    }
  }
}
