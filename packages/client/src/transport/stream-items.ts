import { AskbackError, liveEvent, parseEvent, type SessionEvent } from '@askback/protocol'
import type { EventSourceMessage } from 'eventsource-parser'
import type { ChangeItem, StreamItem } from './transport.js'

/** What can come over a connection, for one session or for all. */
export type WireItem = StreamItem | ChangeItem

/** Parses an event that came over the wire. `null` for a live event of a type that this version does not know. */
export function parseItem(value: unknown): Extract<StreamItem, { type: 'event' | 'live' }> | null {
  if (isDurable(value)) return { type: 'event', event: parseEvent(value) }
  const parsed = liveEvent.safeParse(value)
  return parsed.success ? { type: 'live', event: parsed.data } : null
}

/** `parseItem` for server-sent events. Throws if the message cannot be read. */
export function parseMessage({ event, data }: EventSourceMessage): WireItem | null {
  if (event === 'resync') return { type: 'resync' }
  try {
    const value = JSON.parse(data) as unknown
    return event === 'gone' ? goneItem(value) : parseItem(value)
  } catch (cause) {
    throw new Error('The gateway sent a message that cannot be read.', { cause })
  }
}

/**
 * The position of a reader in a log: it has every event up to `seq`. An event that comes early is passed on to the reader but
 * does not move the position, so after a reconnect the events in between are requested again.
 */
export class StreamPosition {
  readonly logId: string | undefined
  seq: number

  constructor({ seq, logId }: { seq: number; logId?: string }) {
    this.seq = seq
    this.logId = logId
  }

  /** Moves on if this is the next event. Returns whether the event is new to the reader. */
  advance(event: SessionEvent): boolean {
    if (event.seq <= this.seq) return false
    if (event.seq === this.seq + 1) this.seq = event.seq
    return true
  }
}

/** Whether this is the last event of a session that is being deleted. */
export function endsSession(event: SessionEvent): boolean {
  return event.type === 'session_status' && event.status === 'ended'
}

export function sessionNotFound(sessionId: string): AskbackError {
  return new AskbackError('not_found', `There is no session ${sessionId}.`)
}

function goneItem(value: unknown): WireItem | null {
  const isNamed = typeof value === 'object' && value !== null && 'sessionId' in value
  return isNamed && typeof value.sessionId === 'string' ? { type: 'gone', sessionId: value.sessionId } : null
}

/** Only events of the log have a `seq`. */
function isDurable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'seq' in value
}
