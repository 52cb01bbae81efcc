import type { SessionEvent } from '@askback/protocol'
import type { Encoding } from './encoding.js'

export const sseEncoding: Encoding = {
  event: (event) => Buffer.from(`id: ${event.seq}\n${fields(event)}`),
  live: (_sessionId, event) => Buffer.from(fields(event)),
  resync: () => Buffer.from('event: resync\ndata: {}\n\n'),
}

/** For the stream over all sessions, where a cursor of one of them would mean nothing. */
export function withoutId(event: SessionEvent): Buffer {
  return Buffer.from(fields(event))
}

/** JSON has no line breaks, so that it is one field. */
function fields(event: { type: string }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

export const HEARTBEAT = Buffer.from(':\n\n')

export function retryAfter(ms: number): Buffer {
  return Buffer.from(`retry: ${ms}\n\n`)
}
