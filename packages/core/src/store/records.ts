import {
  AskbackError,
  deliverInteraction,
  openInteraction,
  progressInteraction,
  respondToInteraction,
  type EventOf,
  type Interaction,
  type Session,
  type SessionEvent,
} from '@askback/protocol'
import type { Append, SessionRow } from './store.js'

/** The events that made an interaction what it is. */
export interface InteractionParts {
  request: EventOf<'interaction_request'>
  progress?: EventOf<'interaction_progress'> | undefined
  response?: EventOf<'interaction_response'> | undefined
  delivered: boolean
  /** What its last `interaction_pending` says. */
  pending: boolean
}

/** The same as the fold makes of them, for every store alike. */
export function interactionFrom(parts: InteractionParts): Interaction {
  const { request, progress, response, delivered, pending } = parts
  let item = openInteraction(request, pending)
  if (progress) item = progressInteraction(item, progress)
  if (response) item = respondToInteraction(item, response)
  return delivered ? deliverInteraction(item) : item
}

const NO_CHANGES: ReadonlyMap<string, boolean> = new Map()

/**
 * Whether each interaction that an append opens or closes is pending after it (L2). An append from before that rule closes a
 * superseded one by its response alone; logs are imported as they were written.
 */
export function pendingChanges(events: readonly SessionEvent[]): ReadonlyMap<string, boolean> {
  let changes: Map<string, boolean> | undefined
  for (const event of events) {
    if (event.type === 'interaction_pending')
      (changes ??= new Map<string, boolean>()).set(event.interactionId, event.pending)
    else if (event.type === 'interaction_response' && event.settlement === 'superseded')
      (changes ??= new Map<string, boolean>()).set(event.interactionId, false)
  }
  return changes ?? NO_CHANGES
}

/** What the first append of a session says of it for good. */
export function sessionInfo([first]: SessionEvent[]): Omit<Session, 'status' | 'permissionMode'> {
  if (first?.type !== 'session_started')
    throw new AskbackError('internal', 'A log begins with session_started.')
  const { sessionId: id, agent, title = null, cwd = null, at: createdAt } = first
  return { id, agent, title, cwd, createdAt }
}

/** What an append changes in the row of its session. */
export function sessionChange(events: SessionEvent[]): Pick<SessionRow, 'updatedAt'> & Partial<SessionRow> {
  const change: Pick<SessionRow, 'updatedAt'> & Partial<SessionRow> = { updatedAt: 0 }
  for (const event of events) {
    change.updatedAt = event.at
    if (event.type === 'session_started') {
      change.status = 'idle'
      change.permissionMode = event.permissionMode
    } else if (event.type === 'session_status') {
      change.status = event.status
      change.permissionMode = event.permissionMode
    }
  }
  return change
}

/** Guards the log against a caller's mistake that no later read could repair. */
export function checkAppend({ sessionId, expectedSeq, events }: Append): void {
  const fits = events.every(
    (event, index) => event.sessionId === sessionId && event.seq === expectedSeq + 1 + index,
  )
  if (events.length === 0 || !fits) {
    throw new AskbackError(
      'internal',
      `An append to session ${sessionId} does not continue from seq ${expectedSeq}.`,
    )
  }
  if (expectedSeq === 0) sessionInfo(events)
}

/** The place that a cursor names: a whole number, for a store that counts its rows. */
export function placeOfCursor(cursor: string): number {
  const place = /^\d{1,15}$/.test(cursor) ? Number(cursor) : NaN
  if (Number.isNaN(place)) {
    throw new AskbackError('invalid_request', `${JSON.stringify(cursor)} is not a cursor of this list.`)
  }
  return place
}
