import type { Store } from '@askback/core'
import { AskbackError, type SessionEvent } from '@askback/protocol'

const MAX_EVENTS = 1000

export interface EventPage {
  events: SessionEvent[]
  /** The `after` of the next page, or its `before` if the request had one; `null` at the end. */
  next: number | null
}

/** A page of a session's log in ascending order. Rejects with `not_found` or `invalid_request`. */
export async function eventPage(
  store: Store,
  sessionId: string,
  query: { after?: unknown; before?: unknown; limit?: unknown },
): Promise<EventPage> {
  const limit =
    query.limit === undefined ? MAX_EVENTS : Math.min(parseCursor(query.limit, 'limit'), MAX_EVENTS)
  if (limit === 0) throw new AskbackError('invalid_request', 'limit must be at least 1.')
  const after = query.after === undefined ? 0 : parseCursor(query.after, 'after')
  const session = await store.session(sessionId)
  if (!session || session.status === 'ended')
    throw new AskbackError('not_found', `There is no session ${sessionId}.`)
  if (query.before === undefined) return readForwards(store, sessionId, after, limit)
  return readBackwards(store, sessionId, { after, before: parseCursor(query.before, 'before') }, limit)
}

async function readForwards(
  store: Store,
  sessionId: string,
  after: number,
  limit: number,
): Promise<EventPage> {
  const found = await store.read({ sessionId, after, limit: limit + 1 })
  const events = found.slice(0, limit)
  return { events, next: found.length > limit ? events.at(-1)!.seq : null }
}

async function readBackwards(
  store: Store,
  sessionId: string,
  { after, before }: { after: number; before: number },
  limit: number,
): Promise<EventPage> {
  const events = await store.read({ sessionId, after, before, limit })
  const first = events[0]
  return { events, next: first && first.seq > after + 1 ? first.seq : null }
}

/** Parses a position in a log from a URL or header. One that is too large for a number is past the end of every log. */
export function parseCursor(value: unknown, name: string): number {
  if (typeof value === 'string' && /^\d+$/.test(value)) return Number(value)
  throw new AskbackError('invalid_request', `${name} must be a whole number.`)
}
