import type { Clock } from '@askback/core'
import type { Writable } from 'node:stream'
import type { TextCard } from '../cards/card.js'
import { drawCard } from './drawing.js'
import { columnsOf, sizeOf } from './drawing-controls.js'
import { SHOW_MORE } from './terminal-input.js'

/** What to print before the next prompt, and the card to offer in the prompt. */
export interface CardPage {
  lines: string[]
  card: TextCard | null
}

/** Rows that a page leaves free for the controls of its card. */
const ROWS_FOR_CONTROLS = 7
const MIN_PAGE_ROWS = 5

/**
 * Decides which rows of a card to print. A card that can be approved is printed one screen at a time, and offers to approve
 * only after its last page was printed. After anything else was printed the card is printed again, so that it is always the
 * last thing above the prompt.
 *
 *     first page ── turn ──▶ next page ── turn ──▶ last page: read, may be approved
 *         ▲                      │
 *         └── other card, or the window has another width
 */
export class CardPages {
  readonly #output: Writable
  readonly #clock: Clock
  /** The content of each card whose last page was printed. */
  readonly #readContents = new Map<string, string>()
  #cardId: string | null = null
  #columns = 0
  /** The page that is on the screen: the index of its first line, and of the line after its last. */
  #first = 0
  #end = 0
  #isPrinted = false

  constructor(output: Writable, clock: Clock) {
    this.#output = output
    this.#clock = clock
  }

  open(card: TextCard | null): CardPage {
    const columns = columnsOf(this.#output)
    // With another width the text has other lines, so it is not known which of them were seen.
    if (card?.cardId !== this.#cardId || columns !== this.#columns) {
      this.#first = 0
      this.#isPrinted = false
    }
    this.#cardId = card?.cardId ?? null
    this.#columns = columns
    if (!card) return { lines: [], card }
    const all = drawCard(card, this.#clock.now(), columns)
    const content = JSON.stringify(card.parts)
    const isPaged =
      card.controls.some(({ role }) => role === 'approve') && this.#readContents.get(card.cardId) !== content
    const isPrinted = this.#isPrinted
    this.#isPrinted = true
    if (!isPaged) return { lines: isPrinted ? [] : all, card }
    if (!isPrinted) this.#end = Math.min(this.#first + this.#rowsPerPage(), all.length)
    const lines = isPrinted ? [] : all.slice(this.#first, this.#end)
    if (this.#end < all.length) return { lines, card: this.#unreadCard(card, all.length) }
    this.#readContents.set(card.cardId, content)
    return { lines, card }
  }

  turn(): void {
    this.#first = this.#end
    this.#isPrinted = false
  }

  /** Something else was printed below the card. */
  redraw(): void {
    this.#isPrinted = false
  }

  /** Output without rows, such as a file, has one page of any length. */
  #rowsPerPage(): number {
    const { rows } = sizeOf(this.#output)
    return rows === undefined ? Infinity : Math.max(rows - ROWS_FOR_CONTROLS, MIN_PAGE_ROWS)
  }

  /** The card without the controls that approve. Each page has its own card id, so a held key turns only one page. */
  #unreadCard(card: TextCard, lineCount: number): TextCard {
    return {
      ...card,
      cardId: `${card.cardId}#${this.#end}`,
      controls: [
        { id: SHOW_MORE, label: `Show more (${this.#end} of ${lineCount} lines shown)`, role: 'more' },
        ...card.controls.filter(({ role }) => role !== 'approve'),
      ],
    }
  }
}
