import type { Card, ClosedCard, Control, Part } from '@askback/core'
import type { InlineKeyboardButton, MessageEntity } from 'grammy/types'

/** Telegram takes 4,096 characters a message. */
const LONGEST_TEXT = 4096
/** What is shown of a part that goes into a file. */
const LONGEST_BEGINNING = 2500
const LONGEST_LABEL = 40

export interface MessageText {
  text: string
  entities: MessageEntity[]
  /** What did not fit, all of it. */
  file: { name: string; content: string } | null
}

/** Formatted by ranges, not by marks inside the text: nothing that an agent writes can break it or pose as ours. */
export function cardText(card: Card, now: number): MessageText {
  const whole = compose(card, now, null)
  if (whole.text.length <= LONGEST_TEXT) return { ...whole, file: null }
  const content = fileContent(card)
  const name = card.kind === 'plan_review' ? 'plan.md' : `${card.kind}.txt`
  return { ...compose(card, now, content), file: { name, content } }
}

export function closedText({ card, outcome }: ClosedCard, now: number): MessageText {
  const text = new TextBuilder()
  text.add(card.title, 'bold').add('\n')
  const whole = cardText({ ...card, controls: [] }, now)
  const said = `\n${outcome}`
  if (whole.file === null && whole.text.length + said.length <= LONGEST_TEXT) {
    return { text: whole.text + said, entities: whole.entities, file: null }
  }
  text.add(cut(outcome, LONGEST_TEXT - text.length))
  return { ...text.done(), file: null }
}

export function buttons(card: Card): InlineKeyboardButton[][] {
  const button = ({ id, label, checked }: Control, index: number): InlineKeyboardButton => {
    const box = checked === undefined ? '' : checked ? '☑ ' : '☐ '
    const shown = label.length > LONGEST_LABEL ? `${index + 1}. ${cut(label, LONGEST_LABEL)}` : label
    return { text: `${box}${shown}`, callback_data: `${card.cardId}:${id}` }
  }
  const all = card.controls.map(button)
  return card.kind === 'approval' && all.length === 3
    ? [all.slice(0, 2), all.slice(2)]
    : all.map((each) => [each])
}

/** Pieces of a text that are short enough to be sent. */
export function piecesOfText(text: string): string[] {
  const pieces: string[] = []
  let rest = text.trim()
  while (rest.length > LONGEST_TEXT) {
    const line = rest.lastIndexOf('\n', LONGEST_TEXT)
    const piece = line > LONGEST_TEXT / 2 ? rest.slice(0, line) : cut(rest, LONGEST_TEXT, '')
    pieces.push(piece)
    rest = rest.slice(piece.length).trim()
  }
  return rest === '' ? pieces : [...pieces, rest]
}

/** Never between the two halves of a character. */
export function cut(text: string, most: number, end = '…'): string {
  if (text.length <= most) return text
  const kept = text.slice(0, most - end.length)
  return `${/[\ud800-\udbff]$/.test(kept) ? kept.slice(0, -1) : kept}${end}`
}

function compose(card: Card, now: number, inFile: string | null): Omit<MessageText, 'file'> {
  const text = new TextBuilder()
  text.add(card.title, 'bold').add(` · ${cut(card.from, 80)}\n`)
  if (inFile === null) {
    for (const part of card.parts) addPart(text, part, part.text)
  } else {
    addBeginning(text, card.parts, inFile)
  }
  const long = card.controls.filter(({ label, role }) => role === 'option' && label.length > LONGEST_LABEL)
  if (long.length > 0 && inFile === null) {
    const rows = card.controls.flatMap(({ label, role }, index) =>
      role === 'option' ? [`${index + 1}. ${label}`] : [],
    )
    text.add(`\n${rows.join('\n')}\n`)
  }
  if (card.asks !== null) text.add(`\n${card.asks}\n`, 'italic')
  if (card.expiresAt !== undefined && card.controls.length > 0) {
    text.add(`\nExpires in ${minutes(card.expiresAt - now)}.`)
  }
  return text.done()
}

function addPart(text: TextBuilder, { as, label }: Part, shown: string): void {
  text.add('\n')
  if (label !== undefined) text.add(`${cut(label, 200)}:\n`)
  text.add(shown, styles[as]).add('\n')
}

/** No approval without the whole: it says how much is missing, and where it is. */
function addBeginning(text: TextBuilder, parts: Part[], content: string): void {
  let left = LONGEST_BEGINNING
  for (const part of parts) {
    if (left <= 0) break
    addPart(text, part, cut(part.text, left))
    left -= part.text.length
  }
  const lines = content.split('\n').length
  text.add('\n')
  text.add(
    `Only the beginning is shown here. All of it (${lines.toLocaleString('en')} lines, ${content.length.toLocaleString('en')} characters) is in the file above.`,
    'bold',
  )
  text.add('\n')
}

function fileContent({ title, parts, controls }: Card): string {
  const options = controls.flatMap(({ role, label }, index) =>
    role === 'option' ? [`${index + 1}. ${label}`] : [],
  )
  const shown = parts.map(({ label, text }) => (label === undefined ? text : `${label}:\n${text}`))
  return [title, ...shown, ...options].join('\n\n')
}

const styles: Record<Part['as'], MessageEntity['type'] | null> = {
  quote: 'blockquote',
  code: 'pre',
  markdown: 'blockquote',
  note: 'italic',
}

/** Offsets are counted in UTF-16 units, as a string of ours has them. */
class TextBuilder {
  #text = ''
  readonly #entities: MessageEntity[] = []

  get length(): number {
    return this.#text.length
  }

  add(text: string, type: MessageEntity['type'] | null = null): this {
    // Telegram counts no blank at the end of a formatted range.
    const { length } = text.trimEnd()
    if (type !== null && length > 0) {
      this.#entities.push({ type, offset: this.#text.length, length } as MessageEntity)
    }
    this.#text += text
    return this
  }

  done(): { text: string; entities: MessageEntity[] } {
    return { text: this.#text.trimEnd(), entities: this.#entities }
  }
}

function minutes(ms: number): string {
  const left = Math.max(1, Math.round(ms / 60_000))
  if (left < 120) return left === 1 ? 'a minute' : `${left} minutes`
  return `${Math.round(left / 60)} hours`
}
