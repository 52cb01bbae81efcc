import type { Card, ClosedCard, Part } from '@askback/core'
import { spellOut, spellOutLine, type EventOf, type SessionEvent, type Strictness } from '@askback/protocol'
import { linesOf, markLines } from './wrapping.js'

/** Only lines of ours begin with this. */
const OURS = '── '
const IN_CARD = '│ '
/** What happens in the session, said by the agent or by people. */
const IN_SESSION = '┊ '
/** From so many on they are counted instead: they would push what comes after them off the screen. */
const FOLDED_BLANK_LINES = 4
const LONGEST_SUMMARY = 200

/** All of it, each time: what is approved must have been on the screen. */
export function drawCard({ title, from, parts, expiresAt }: Card, now: number, columns: number): string[] {
  const left = expiresAt === undefined ? '' : ` · ${timeLeft(expiresAt - now)}`
  return [
    ...markLines(`${title} · ${from}${left}`, columns, [OURS, IN_CARD]),
    ...parts.flatMap((part) => drawPart(part, columns)),
  ]
}

export function drawClosed({ card, outcome }: ClosedCard, columns: number): string {
  return drawNotice(`${card.title} ${outcome}`, columns)
}

/** What Askback itself says; only its first line can be taken for that. */
export function drawNotice(text: string, columns: number): string {
  return markLines(text, columns, [OURS, IN_CARD]).join('\n')
}

/** What happens in a session, in a few lines; `null` for what says nothing to a person. */
export function drawEvent(event: SessionEvent, columns: number): string | null {
  const text = eventText(event)
  return text === null ? null : markLines(text, columns, [IN_SESSION, IN_SESSION]).join('\n')
}

function eventText(event: SessionEvent): string | null {
  switch (event.type) {
    case 'user_message':
      return `> ${spellOutLine(event.by.name ?? event.by.id, 'prose')}: ${spellOut(event.text, 'prose')}`
    case 'text':
      return spellOut(event.text, 'prose')
    case 'tool_call':
      return `· ${short(event.toolName, 'code')} ${short(JSON.stringify(event.input), 'code')}`
    case 'tool_result':
      return event.isError ? drawError(event) : null
    case 'turn_ended':
      return event.reason === 'done' ? null : `(${event.reason})`
    case 'error':
      return `! ${spellOut(event.message, 'prose')}`
    default:
      return null
  }
}

/** Only a tool can fail: what a person did not allow is told as that. */
function drawError({ settledBy, output }: EventOf<'tool_result'>): string {
  switch (settledBy) {
    case undefined:
      return `  failed: ${short(JSON.stringify(output), 'code')}`
    case 'adjusted':
      return '  changes requested'
    case 'timed_out':
      return '  timed out'
    default:
      return `  ${settledBy}`
  }
}

function drawPart({ text, label }: Part, columns: number): string[] {
  const heading = label === undefined ? [] : markLines(`${label}:`, columns, [IN_CARD, IN_CARD])
  const mark = label === undefined ? IN_CARD : `${IN_CARD}  `
  const body = foldBlankLines(linesOf(text)).flatMap((line) =>
    // Without the mark of the agent's own lines: it cannot write such a line itself.
    typeof line === 'number' ? [`  ${line} blank lines`] : markLines(line, columns, [mark, mark]),
  )
  return [...heading, ...body]
}

/** A number stands for so many blank lines in a row. */
function foldBlankLines(lines: string[]): (string | number)[] {
  const folded: (string | number)[] = []
  for (let at = 0; at < lines.length;) {
    let end = at
    while (end < lines.length && lines[end]!.trim() === '') end++
    if (end - at >= FOLDED_BLANK_LINES) folded.push(end - at)
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

/** A call in the history is a summary, and says so; what a person decides on is a card, and whole. */
function short(text: string, strictness: Strictness): string {
  const characters = Array.from(spellOutLine(text, strictness))
  const more = characters.length - LONGEST_SUMMARY
  return more <= 0
    ? characters.join('')
    : `${characters.slice(0, LONGEST_SUMMARY).join('')}… (${more} more characters)`
}
