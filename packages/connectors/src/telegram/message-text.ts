import type { Card, ClosedCard, Control, Part } from '@askback/core'
import type { InlineKeyboardButton, MessageEntity } from 'grammy/types'

/** Telegram takes 4,096 characters a message, in UTF-16 units, and a hundred buttons. */
const LONGEST_TEXT = 4096
/** What is shown of a part that goes into a file. */
const LONGEST_BEGINNING = 2500
const LONGEST_TITLE = 200
const LONGEST_LABEL = 40
const MOST_BUTTONS = 100

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
  const whole = cardText({ ...card, controls: [] }, now)
  const said = `\n${outcome}`
  if (whole.file === null && whole.text.length + said.length <= LONGEST_TEXT) {
    return { text: whole.text + said, entities: whole.entities, file: null }
  }
  const text = new TextBuilder().add(cut(card.title, LONGEST_TITLE), 'bold').add('\n')
  text.add(cut(outcome, LONGEST_TEXT - text.length))
  return { ...text.done(), file: null }
}

export function buttons(card: Card): InlineKeyboardButton[][] {
  const button = ({ id, label, checked }: Control, index: number): InlineKeyboardButton => {
    const box = checked === undefined ? '' : checked ? '☑ ' : '☐ '
    const shown = fitsButton(label) ? label : `${index + 1}. ${cut(label, LONGEST_LABEL)}`
    return { text: `${box}${shown}`, callback_data: `${card.cardId}:${id}` }
  }
  const left = new Set(withoutButton(card))
  const all = card.controls.flatMap((control, index) => (left.has(control) ? [] : [button(control, index)]))
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
  const isWhole = inFile === null
  const title = isWhole ? card.title : cut(card.title, LONGEST_TITLE)
  const text = new TextBuilder().add(title, 'bold').add(` · ${cut(card.from, 80)}\n`)
  const end = ending(card, now, inFile)
  if (isWhole) {
    for (const part of card.parts) addPart(text, part)
  } else {
    addBeginning(text, card.parts, LONGEST_TEXT - text.length - end.length)
  }
  return text.append(end).done()
}

function addPart(text: TextBuilder, { as, label, text: shown }: Part): void {
  text.add('\n')
  if (label !== undefined) text.add(`${label}:\n`)
  text.add(shown, styles[as]).add('\n')
}

/** As much as there is room for, with the labels. */
function addBeginning(text: TextBuilder, parts: Part[], room: number): void {
  const most = text.length + Math.min(room, LONGEST_BEGINNING)
  for (const { as, label, text: shown } of parts) {
    const begun = label === undefined ? '\n' : `\n${cut(label, LONGEST_TITLE)}:\n`
    const left = most - text.length - begun.length - 1
    if (left <= 0) return
    text.add(begun).add(cut(shown, left), styles[as]).add('\n')
  }
}

/** What stands below in any case. */
function ending(card: Card, now: number, inFile: string | null): TextBuilder {
  const text = new TextBuilder()
  const { controls, asks, expiresAt } = card
  // No approval without the whole: it says how much is missing, and where it is.
  if (inFile !== null) {
    const amount = `${number(inFile.split('\n').length)} lines, ${number(inFile.length)} characters`
    text
      .add('\n')
      .add(`Only the beginning is shown here. All of it (${amount}) is in the file above.`, 'bold')
    text.add('\n')
  }
  const left = withoutButton(card)
  const isListed =
    left.length > 0 || controls.some(({ label, role }) => role === 'option' && !fitsButton(label))
  if (inFile === null && isListed) text.add(`\n${optionRows(card).join('\n')}\n`)
  if (left.length > 0) {
    text.add(`\n${number(left.length)} more have no button: send the number or the name of one.\n`, 'italic')
  }
  if (asks !== null) text.add(`\n${asks}\n`, 'italic')
  if (expiresAt !== undefined && controls.length > 0) {
    text.add(`\nExpires in ${minutes(expiresAt - now)}.`)
  }
  return text
}

function fileContent(card: Card): string {
  const shown = card.parts.map(({ label, text }) => (label === undefined ? text : `${label}:\n${text}`))
  return [card.title, ...shown, ...optionRows(card)].join('\n\n')
}

function optionRows({ controls }: Card): string[] {
  return controls.flatMap(({ label, role }, index) => (role === 'option' ? [`${index + 1}. ${label}`] : []))
}

/** The last of the options, as what is done with them needs its button more. */
function withoutButton({ controls }: Card): Control[] {
  const options = controls.filter(({ role }) => role === 'option')
  return options.slice(Math.max(options.length - Math.max(controls.length - MOST_BUTTONS, 0), 0))
}

function fitsButton(label: string): boolean {
  return label.length <= LONGEST_LABEL && label.trim() !== ''
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

  append(other: TextBuilder): this {
    for (const entity of other.#entities) {
      this.#entities.push({ ...entity, offset: entity.offset + this.#text.length })
    }
    this.#text += other.#text
    return this
  }

  done(): { text: string; entities: MessageEntity[] } {
    return { text: this.#text.trimEnd(), entities: this.#entities }
  }
}

function number(value: number): string {
  return value.toLocaleString('en')
}

function minutes(ms: number): string {
  const left = Math.max(1, Math.round(ms / 60_000))
  if (left < 120) return left === 1 ? 'a minute' : `${left} minutes`
  return `${Math.round(left / 60)} hours`
}
