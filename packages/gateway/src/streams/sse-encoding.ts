import type { SessionEvent } from '@askback/protocol'
import type { Encoding } from './encoding.js'

export const sseEncoding: Encoding = {
  events(events) {
    let text = ''
    for (const event of events) text += `id: ${event.seq}\n${fields(event)}`
    return Buffer.from(text)
  },
  live: (_sessionId, event) => Buffer.from(fields(event)),
  resync: () => Buffer.from('event: resync\ndata: {}\n\n'),
}

/** For the stream over all sessions, where a cursor of one of them would mean nothing. */
export function withoutIds(events: SessionEvent[]): Buffer {
  return Buffer.from(events.map(fields).join(''))
}

/** JSON has no line breaks, so that it is one field. */
function fields(event: { type: string }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

export const HEARTBEAT = Buffer.from(':\n\n')

export function retryAfter(ms: number): Buffer {
  return Buffer.from(`retry: ${ms}\n\n`)
}
