import { AskbackError, liveEvent, parseEvent, type SessionEvent } from '@askback/protocol'
import type { EventSourceMessage } from 'eventsource-parser'
import type { StreamItem } from './transport.js'

/** An event as it came over the wire. `null` for a live one that this version does not know. */
export function parseItem(value: unknown): Extract<StreamItem, { type: 'event' | 'live' }> | null {
  if (isDurable(value)) return { type: 'event', event: parseEvent(value) }
  const parsed = liveEvent.safeParse(value)
  return parsed.success ? { type: 'live', event: parsed.data } : null
}

/** The same over server-sent events. Throws at what cannot be read. */
export function parseMessage({ event, data }: EventSourceMessage): StreamItem | null {
  if (event === 'resync') return { type: 'resync' }
  try {
    return parseItem(JSON.parse(data))
  } catch (cause) {
    throw new Error('The gateway sent what cannot be read.', { cause })
  }
}

/** Where a reader stands. It has everything up to `seq`; what comes early is passed on, but not counted. */
export class Place {
  readonly logId: string | undefined
  seq: number

  constructor({ seq, logId }: { seq: number; logId?: string }) {
    this.seq = seq
    this.logId = logId
  }

  /** Whether it is news. */
  take(event: SessionEvent): boolean {
    if (event.seq <= this.seq) return false
    if (event.seq === this.seq + 1) this.seq = event.seq
    return true
  }
}

/** The last event of a session that is being deleted. */
export function endsSession(event: SessionEvent): boolean {
  return event.type === 'session_status' && event.status === 'ended'
}

export function gone(sessionId: string): AskbackError {
  return new AskbackError('not_found', `There is no session ${sessionId}.`)
}

function isDurable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'seq' in value
}
