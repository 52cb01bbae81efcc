import { spellOut, spellOutLine, type EventOf, type SessionEvent, type Strictness } from '@askback/protocol'
import type { CardPart, ClosedCard, TextCard } from '../cards/card.js'

/*
 * What the terminal prints, as lines. Each row of a text that an agent wrote begins with a mark, also after a line break, so
 * that an agent cannot print a row that looks like one of Askback.
 */

/** Only rows of Askback itself begin with this. */
const ASKBACK_MARK = '── '
const CARD_MARK = '│ '
/** For events of the session: what agents and people say and do. */
const EVENT_MARK = '┊ '
/** From this number on, consecutive blank lines are counted instead: they would push what follows off the screen. */
const MIN_FOLDED_BLANK_LINES = 4
/** In characters. */
const MAX_SUMMARY_LENGTH = 200

/** The whole card, each time: what a person approves must have been on the screen. */
export function drawCard(
  { title, from, parts, expiresAt }: TextCard,
  now: number,
  columns: number,
): string[] {
  const deadline = expiresAt === undefined ? '' : ` · ${timeLeft(expiresAt - now)}`
  return [
    ...markLines(`${title} · ${from}${deadline}`, columns, [ASKBACK_MARK, CARD_MARK]),
    ...parts.flatMap((part) => drawPart(part, columns)),
  ]
}

export function drawClosed({ card, outcome }: ClosedCard, columns: number): string {
  return drawNotice(`${card.title} ${outcome}`, columns)
}

/** A message of Askback itself. Only its first row has that mark, as the rest may quote an agent. */
export function drawNotice(text: string, columns: number): string {
  return markLines(text, columns, [ASKBACK_MARK, CARD_MARK]).join('\n')
}

/** An event of a session in a few lines; `null` for an event that means nothing to a person. */
export function drawEvent(event: SessionEvent, columns: number): string | null {
  const text = eventText(event)
  return text === null ? null : markLines(text, columns, [EVENT_MARK, EVENT_MARK]).join('\n')
}

function eventText(event: SessionEvent): string | null {
  switch (event.type) {
    case 'user_message':
      return `> ${spellOutLine(event.by.name ?? event.by.id, 'prose')}: ${spellOut(event.text, 'prose')}`
    case 'text':
      return spellOut(event.text, 'prose')
    case 'tool_call':
      return `· ${summarize(event.toolName, 'code')} ${summarize(JSON.stringify(event.input), 'code')}`
    case 'tool_result':
      return event.isError ? errorText(event) : null
    case 'turn_ended':
      return event.reason === 'done' ? null : `(${event.reason})`
    case 'error':
      return `! ${spellOut(event.message, 'prose')}`
    default:
      return null
  }
}

/** Only a tool that ran can fail. A call that a person did not allow is described as denied, cancelled and so on. */
function errorText({ settledBy, output }: EventOf<'tool_result'>): string {
  switch (settledBy) {
    case undefined:
      return `  failed: ${summarize(JSON.stringify(output), 'code')}`
    case 'adjusted':
      return '  changes requested'
    case 'timed_out':
      return '  timed out'
    default:
      return `  ${settledBy}`
  }
}

function drawPart({ text, label }: CardPart, columns: number): string[] {
  const heading = label === undefined ? [] : markLines(`${label}:`, columns, [CARD_MARK, CARD_MARK])
  const mark = label === undefined ? CARD_MARK : `${CARD_MARK}  `
  const body = foldBlankLines(linesOf(text)).flatMap((line) =>
    // Without the mark that rows of the agent have, so the agent cannot imitate this line.
    typeof line === 'number' ? [`  ${line} blank lines`] : markLines(line, columns, [mark, mark]),
  )
  return [...heading, ...body]
}

/** Replaces consecutive blank lines by their number. */
function foldBlankLines(lines: string[]): (string | number)[] {
  const folded: (string | number)[] = []
  for (let at = 0; at < lines.length;) {
    let end = at
    while (end < lines.length && lines[end]!.trim() === '') end++
    if (end - at >= MIN_FOLDED_BLANK_LINES) folded.push(end - at)
    else folded.push(...lines.slice(at, end))
    if (end < lines.length) folded.push(lines[end]!)
    at = end + 1
  }
  return folded
}

function timeLeft(ms: number): string {
  if (ms <= 0) return 'overdue'
  const minutes = Math.ceil(ms / 60_000)
  return minutes <= 120 ? `${minutes} min left` : `${Math.round(minutes / 60)} h left`
}

/** Shortens a text of the history and says so. What a person decides on is a card, which is never shortened. */
function summarize(text: string, strictness: Strictness): string {
  const characters = Array.from(spellOutLine(text, strictness))
  const more = characters.length - MAX_SUMMARY_LENGTH
  return more <= 0
    ? characters.join('')
    : `${characters.slice(0, MAX_SUMMARY_LENGTH).join('')}… (${more} more characters)`
}

/** Breaks a text into rows of at most `columns`: between words, and inside a word that is too long. */
export function wrapText(text: string, columns: number): string[] {
  return linesOf(text).flatMap((line) => wrapLine(line, Math.max(columns, 2)))
}

/**
 * The same, with a mark at the beginning of the first row and of all others. Without our own line breaks, the terminal would
 * continue a long line at the left edge, where only rows of Askback begin.
 */
export function markLines(text: string, columns: number, [first, rest]: [string, string]): string[] {
  const room = columns - Math.max(first.length, rest.length)
  return wrapText(text, room).map((line, index) => `${index === 0 ? first : rest}${line}`)
}

/** The lines of a text. A tab becomes four columns and a lone carriage return visible, so that widths can be measured. */
export function linesOf(text: string): string[] {
  return text.replaceAll('\r\n', '\n').replaceAll('\r', '⟦CR⟧').replaceAll('\t', '    ').split('\n')
}

function wrapLine(line: string, columns: number): string[] {
  const lines: string[] = []
  let current = ''
  let width = 0
  for (const word of line.split(/(?<= )/)) {
    if (width > 0 && width + widthOf(word.trimEnd()) > columns) {
      lines.push(current)
      current = ''
      width = 0
    }
    for (const character of word) {
      const wide = widthOf(character)
      if (width + wide > columns) {
        lines.push(current)
        current = ''
        width = 0
      }
      current += character
      width += wide
    }
  }
  return [...lines, current]
}

/** An upper bound of the columns that a terminal uses: a row that is too short does no harm. */
function widthOf(text: string): number {
  let width = 0
  for (const character of text) width += character.codePointAt(0)! >= 0x1100 ? 2 : 1
  return width
}
