import type { Card, ClosedCard, Part } from '@askback/core'
import { spellOut, type EventOf, type SessionEvent } from '@askback/protocol'

/** All of it, each time: what is approved must have been on the screen. */
export function drawCard({ title, from, parts, expiresAt }: Card, now: number): string {
  const left = expiresAt === undefined ? '' : ` · ${timeLeft(expiresAt - now)}`
  return [`── ${title} · ${from}${left}`, ...parts.map(drawPart)].join('\n')
}

export function drawClosed({ card, outcome }: ClosedCard): string {
  return `── ${card.title} ${outcome}`
}

/** What happens in a session, in a few lines; `null` for what says nothing to a person. */
export function drawEvent(event: SessionEvent): string | null {
  switch (event.type) {
    case 'user_message':
      return `> ${prose(event.by.name ?? event.by.id)}: ${prose(event.text)}`
    case 'text':
      return prose(event.text)
    case 'tool_call':
      return `· ${spellOut(event.toolName, 'code')} ${short(spellOut(JSON.stringify(event.input), 'code'))}`
    case 'tool_result':
      return event.isError ? drawError(event) : null
    case 'turn_ended':
      return event.reason === 'done' ? null : `(${event.reason})`
    case 'error':
      return `! ${prose(event.message)}`
    default:
      return null
  }
}

/** Only a tool can fail: what a person did not allow is told as that. */
function drawError({ settledBy, output }: EventOf<'tool_result'>): string {
  switch (settledBy) {
    case undefined:
      return `  failed: ${short(spellOut(JSON.stringify(output), 'code'))}`
    case 'adjusted':
      return '  changes requested'
    case 'timed_out':
      return '  timed out'
    default:
      return `  ${settledBy}`
  }
}

/** In prose a line break of two characters is one; alone, the first would write over what stands in its line. */
export function keepLines(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll('\r', '⟦CR⟧')
}

function drawPart({ as, text, label }: Part): string {
  const mark = as === 'quote' ? '│ ' : '  '
  const lines = text.split('\n').map((line) => `${mark}${line}`)
  return [...(label === undefined ? [] : [`${label}:`]), ...lines].join('\n')
}

function timeLeft(ms: number): string {
  if (ms <= 0) return 'overdue'
  const minutes = Math.ceil(ms / 60_000)
  return minutes <= 120 ? `${minutes} min left` : `${Math.round(minutes / 60)} h left`
}

function short(text: string): string {
  return text.length > 100 ? `${text.slice(0, 99)}…` : text
}

function prose(text: string): string {
  return spellOut(text, 'prose')
}
