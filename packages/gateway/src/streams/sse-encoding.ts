import type { SessionEvent } from '@askback/protocol'
import type { Encoding } from './encoding.js'

export const sseEncoding: Encoding = {
  events(events, texts) {
    let frames = ''
    for (const [index, { seq, type }] of events.entries())
      frames += `id: ${seq}\n${fields(type, texts[index]!)}`
    return Buffer.from(frames)
  },
  live: (_sessionId, event) => Buffer.from(fields(event.type, JSON.stringify(event))),
  resync: () => Buffer.from('event: resync\ndata: {}\n\n'),
}

/** For the stream over all sessions, where a cursor of one of them would mean nothing. */
export function withoutIds(events: SessionEvent[], texts: string[]): Buffer {
  return Buffer.from(events.map(({ type }, index) => fields(type, texts[index]!)).join(''))
}

export function goneFrame(sessionId: string): Buffer {
  return Buffer.from(fields('gone', JSON.stringify({ sessionId })))
}

/** JSON has no line breaks, so that it is one field. */
function fields(type: string, text: string): string {
  return `event: ${type}\ndata: ${text}\n\n`
}

export const HEARTBEAT = Buffer.from(':\n\n')

export function retryAfter(ms: number): Buffer {
  return Buffer.from(`retry: ${ms}\n\n`)
}
