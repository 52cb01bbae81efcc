import type { CardControl, CardPart, ClosedCard, TextCard } from '../cards/card.js'
import type { InlineKeyboardButton, MessageEntity } from 'grammy/types'

/** Telegram's limits for one message. Like all lengths here, in UTF-16 units. */
const MAX_MESSAGE_LENGTH = 4096
const MAX_BUTTONS = 100
/** How much of a card is shown in the message if the whole card is in a file. */
const MAX_EXCERPT_LENGTH = 2500
const MAX_TITLE_LENGTH = 200
const MAX_LABEL_LENGTH = 40
const MAX_SESSION_NAME_LENGTH = 80

export interface MessageText {
  text: string
  entities: MessageEntity[]
  /** The whole card, if it did not fit into the message. */
  file: { name: string; content: string } | null
}

/**
 * The message for a card. It is formatted by ranges and not by marks inside the text, so nothing that an agent writes can
 * break the format or imitate a label of Askback.
 */
export function cardText(card: TextCard, now: number): MessageText {
  const whole = compose(card, now, null)
  if (whole.text.length <= MAX_MESSAGE_LENGTH) return { ...whole, file: null }
  const content = fileContent(card)
  const name = card.kind === 'plan_review' ? 'plan.md' : `${card.kind}.txt`
  return { ...compose(card, now, content), file: { name, content } }
}

/** The message for a card that is closed: with the outcome below, or with only title and outcome if all is too long. */
export function closedText({ card, outcome }: ClosedCard, now: number): MessageText {
  const whole = cardText({ ...card, controls: [] }, now)
  const ending = `\n${outcome}`
  if (whole.file === null && whole.text.length + ending.length <= MAX_MESSAGE_LENGTH) {
    return { text: whole.text + ending, entities: whole.entities, file: null }
  }
  const text = new TextBuilder().add(cut(card.title, MAX_TITLE_LENGTH), 'bold').add('\n')
  text.add(cut(outcome, MAX_MESSAGE_LENGTH - text.length))
  return { ...text.build(), file: null }
}

export function buttons(card: TextCard): InlineKeyboardButton[][] {
  const button = ({ id, label, checked }: CardControl, index: number): InlineKeyboardButton => {
    const box = checked === undefined ? '' : checked ? '☑ ' : '☐ '
    const shown = fitsButton(label) ? label : `${index + 1}. ${cut(label, MAX_LABEL_LENGTH)}`
    return { text: `${box}${shown}`, callback_data: `${card.cardId}:${id}` }
  }
  const omitted = new Set(controlsWithoutButton(card))
  const all = card.controls.flatMap((control, index) =>
    omitted.has(control) ? [] : [button(control, index)],
  )
  return card.kind === 'approval' && all.length === 3
    ? [all.slice(0, 2), all.slice(2)]
    : all.map((each) => [each])
}

/** Splits a text into messages, at line breaks where possible. */
export function splitText(text: string): string[] {
  const messages: string[] = []
  let rest = text.trim()
  while (rest.length > MAX_MESSAGE_LENGTH) {
    const line = rest.lastIndexOf('\n', MAX_MESSAGE_LENGTH)
    const next = line > MAX_MESSAGE_LENGTH / 2 ? rest.slice(0, line) : cut(rest, MAX_MESSAGE_LENGTH, '')
    messages.push(next)
    rest = rest.slice(next.length).trim()
  }
  return rest === '' ? messages : [...messages, rest]
}

/** Shortens a text, but never between the two halves of a surrogate pair. */
export function cut(text: string, maxLength: number, end = '…'): string {
  if (text.length <= maxLength) return text
  const start = text.slice(0, maxLength - end.length)
  return `${/[\ud800-\udbff]$/.test(start) ? start.slice(0, -1) : start}${end}`
}

function compose(card: TextCard, now: number, inFile: string | null): Omit<MessageText, 'file'> {
  const isWhole = inFile === null
  const title = isWhole ? card.title : cut(card.title, MAX_TITLE_LENGTH)
  const text = new TextBuilder().add(title, 'bold').add(` · ${cut(card.from, MAX_SESSION_NAME_LENGTH)}\n`)
  const end = footer(card, now, inFile)
  if (isWhole) {
    for (const part of card.parts) addPart(text, part)
  } else {
    addExcerpt(text, card.parts, MAX_MESSAGE_LENGTH - text.length - end.length)
  }
  return text.append(end).build()
}

function addPart(text: TextBuilder, { as, label, text: shown }: CardPart): void {
  text.add('\n')
  if (label !== undefined) text.add(`${label}:\n`)
  text.add(shown, STYLES[as]).add('\n')
}

/** Adds the beginning of the parts, with their labels, up to `room`. */
function addExcerpt(text: TextBuilder, parts: CardPart[], room: number): void {
  const maxLength = text.length + Math.min(room, MAX_EXCERPT_LENGTH)
  for (const { as, label, text: shown } of parts) {
    const heading = label === undefined ? '\n' : `\n${cut(label, MAX_TITLE_LENGTH)}:\n`
    const left = maxLength - text.length - heading.length - 1
    if (left <= 0) return
    text.add(heading).add(cut(shown, left), STYLES[as]).add('\n')
  }
}

/** What comes below the parts, and is never cut. */
function footer(card: TextCard, now: number, inFile: string | null): TextBuilder {
  const text = new TextBuilder()
  const { controls, asks, expiresAt } = card
  // Nobody should approve what they have not seen, so the message says how much is missing and where it is.
  if (inFile !== null) {
    const amount = `${number(inFile.split('\n').length)} lines, ${number(inFile.length)} characters`
    text
      .add('\n')
      .add(`Only the beginning is shown here. All of it (${amount}) is in the file above.`, 'bold')
    text.add('\n')
  }
  const omitted = controlsWithoutButton(card)
  const isListed =
    omitted.length > 0 || controls.some(({ label, role }) => role === 'option' && !fitsButton(label))
  if (inFile === null && isListed) text.add(`\n${optionRows(card).join('\n')}\n`)
  if (omitted.length > 0) {
    text.add(
      `\n${number(omitted.length)} more have no button: send the number or the name of one.\n`,
      'italic',
    )
  }
  if (asks !== null) text.add(`\n${asks}\n`, 'italic')
  if (expiresAt !== undefined && controls.length > 0) {
    text.add(`\nExpires in ${approximateTime(expiresAt - now)}.`)
  }
  return text
}

function fileContent(card: TextCard): string {
  const shown = card.parts.map(({ label, text }) => (label === undefined ? text : `${label}:\n${text}`))
  return [card.title, ...shown, ...optionRows(card)].join('\n\n')
}

function optionRows({ controls }: TextCard): string[] {
  return controls.flatMap(({ label, role }, index) => (role === 'option' ? [`${index + 1}. ${label}`] : []))
}

/** The last options, if there are too many controls. Controls such as Done always get their buttons. */
function controlsWithoutButton({ controls }: TextCard): CardControl[] {
  const options = controls.filter(({ role }) => role === 'option')
  return options.slice(Math.max(options.length - Math.max(controls.length - MAX_BUTTONS, 0), 0))
}

function fitsButton(label: string): boolean {
  return label.length <= MAX_LABEL_LENGTH && label.trim() !== ''
}

const STYLES: Record<CardPart['as'], MessageEntity['type'] | null> = {
  quote: 'blockquote',
  code: 'pre',
  markdown: 'blockquote',
  note: 'italic',
}

/** A text with formatted ranges. Telegram counts offsets in UTF-16 units, as JavaScript does. */
class TextBuilder {
  #text = ''
  readonly #entities: MessageEntity[] = []

  get length(): number {
    return this.#text.length
  }

  add(text: string, type: MessageEntity['type'] | null = null): this {
    // Telegram does not accept white space at the end of a formatted range.
    const { length } = text.trimEnd()
    if (type !== null && length > 0) {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- types that need more fields, such as links, are not used here
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

  build(): { text: string; entities: MessageEntity[] } {
    return { text: this.#text.trimEnd(), entities: this.#entities }
  }
}

function number(value: number): string {
  return value.toLocaleString('en')
}

function approximateTime(ms: number): string {
  const left = Math.max(1, Math.round(ms / 60_000))
  if (left < 120) return left === 1 ? 'a minute' : `${left} minutes`
  return `${Math.round(left / 60)} hours`
}
