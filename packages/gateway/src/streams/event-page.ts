import type { Store } from '@askback/core'
import { AskbackError, type SessionEvent } from '@askback/protocol'

const MOST = 1000

export interface EventPage {
  events: SessionEvent[]
  /** For `after`, or for `before` where that was given. */
  next: number | null
}

/** A page of a session's log, ascending. */
export async function eventPage(
  store: Store,
  sessionId: string,
  query: { after?: unknown; before?: unknown; limit?: unknown },
): Promise<EventPage> {
  const limit = query.limit === undefined ? MOST : Math.min(parseCursor(query.limit, 'limit'), MOST)
  if (limit === 0) throw new AskbackError('invalid_request', 'limit must be at least 1.')
  const after = query.after === undefined ? 0 : parseCursor(query.after, 'after')
  const session = await store.session(sessionId)
  if (!session || session.status === 'ended')
    throw new AskbackError('not_found', `There is no session ${sessionId}.`)
  if (query.before === undefined) return forwards(store, sessionId, after, limit)
  return backwards(store, sessionId, { after, before: parseCursor(query.before, 'before') }, limit)
}

async function forwards(store: Store, sessionId: string, after: number, limit: number): Promise<EventPage> {
  const found = await store.read({ sessionId, after, limit: limit + 1 })
  const events = found.slice(0, limit)
  return { events, next: found.length > limit ? events.at(-1)!.seq : null }
}

async function backwards(
  store: Store,
  sessionId: string,
  { after, before }: { after: number; before: number },
  limit: number,
): Promise<EventPage> {
  const events = await store.read({ sessionId, after, before, limit })
  const first = events[0]
  return { events, next: first && first.seq > after + 1 ? first.seq : null }
}

/** A place in a log as it stands in a URL or header. One that is too large for a number lies past every end. */
export function parseCursor(value: unknown, name: string): number {
  if (typeof value === 'string' && /^\d+$/.test(value)) return Number(value)
  throw new AskbackError('invalid_request', `${name} must be a whole number.`)
}
