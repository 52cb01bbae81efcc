import {
  AskbackError,
  deliverInteraction,
  openInteraction,
  progressInteraction,
  respondToInteraction,
  type EventOf,
  type EventType,
  type Interaction,
  type Json,
  type Session,
  type SessionEvent,
  type SessionTags,
} from '@askback/protocol'
import type { Append, Page, SessionRow } from './store.js'

/*
 * Rules that every store must follow alike: what an append changes in the indexes, and how rows become what callers get. A store
 * only decides where it writes them.
 */

/** The events that determine an interaction. A store indexes them by its id. */
export interface InteractionParts {
  request: EventOf<'interaction_request'>
  progress?: EventOf<'interaction_progress'> | undefined
  response?: EventOf<'interaction_response'> | undefined
  delivered: boolean
  /** As in its last `interaction_pending` event. */
  pending: boolean
}

/** Builds an interaction from its events. The result equals that of `reduce` over the whole log. */
export function buildInteraction(parts: InteractionParts): Interaction {
  const { request, progress, response, delivered, pending } = parts
  let item = openInteraction(request, pending)
  if (progress) item = progressInteraction(item, progress)
  if (response) item = respondToInteraction(item, response)
  return delivered ? deliverInteraction(item) : item
}

const NO_CHANGES: ReadonlyMap<string, boolean> = new Map()

/**
 * For each interaction that an append opens or closes: whether it is pending afterwards (L2). Logs from before that rule end a
 * superseded interaction with its response alone, and an import does not change them.
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

/**
 * The key that holds the tags of a session. It is written in the append of the event that sets them, and stores read it for the row
 * of the session.
 */
export function tagsKey(sessionId: string): string {
  return `session/${sessionId}/tags`
}

/** The tags in the row of a session, from the value of `tagsKey`, which only the desk writes. */
export function rowTags(value: Json | null | undefined): Pick<SessionRow, 'tags'> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
  return value ? { tags: value as SessionTags } : {}
}

/** What an append changes in the row of one interaction. Events are given by their index in the append; `null` is no change. */
export interface InteractionChange {
  request: number | null
  progress: number | null
  response: number | null
  delivered: boolean
  pending: boolean | null
}

/** The changes of an append, by the id of the interaction. A request starts a new row, also if its id was used before. */
export function interactionChanges(events: readonly SessionEvent[]): Map<string, InteractionChange> {
  const changes = new Map<string, InteractionChange>()
  const changeOf = (id: string): InteractionChange => {
    const known = changes.get(id)
    if (known) return known
    const change = { request: null, progress: null, response: null, delivered: false, pending: null }
    changes.set(id, change)
    return change
  }
  for (const [index, event] of events.entries()) {
    switch (event.type) {
      case 'interaction_request':
        changes.delete(event.interactionId)
        changeOf(event.interactionId).request = index
        break
      case 'interaction_progress':
        changeOf(event.interactionId).progress = index
        break
      case 'interaction_response':
        changeOf(event.interactionId).response = index
        break
      case 'interaction_delivered':
        changeOf(event.interactionId).delivered = true
        break
      default:
    }
  }
  for (const [id, pending] of pendingChanges(events)) changeOf(id).pending = pending
  return changes
}

/** The deadline to index, or `null`: with `onTimeout: 'keep'` nothing happens at the deadline. */
export function indexedDeadline({ expiresAt, onTimeout }: EventOf<'interaction_request'>): number | null {
  return onTimeout === 'keep' ? null : (expiresAt ?? null)
}

/** The fields of a session that its first event determines and no later one changes. */
export function sessionInfo([first]: SessionEvent[]): Omit<Session, 'status' | 'permissionMode' | 'tags'> {
  if (first?.type !== 'session_started')
    throw new AskbackError('internal', 'A log begins with session_started.')
  const { sessionId: id, agent, title = null, cwd = null, at: createdAt } = first
  return { id, agent, title, cwd, createdAt }
}

/** The columns that an append changes in the row of its session. */
export function sessionChange(
  events: readonly SessionEvent[],
): Pick<SessionRow, 'updatedAt'> & Partial<SessionRow> {
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

/** Throws if an append would leave a gap in the log or mix sessions: no later read could repair that. */
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

/** Parses the cursor of a store whose cursors are positions. Cursors come from callers, so anything else is their mistake. */
export function parseCursor(cursor: string): number {
  const position = /^\d{1,15}$/.test(cursor) ? Number(cursor) : NaN
  if (Number.isNaN(position)) {
    throw new AskbackError('invalid_request', `${JSON.stringify(cursor)} is not a cursor of this list.`)
  }
  return position
}

/** Makes a page of rows, of which a query must return one more than `limit`, so that it is known whether another page follows. */
export function pageOf<Row, Item>(
  rows: readonly Row[],
  limit: number,
  positionOf: (row: Row) => number,
  itemOf: (row: Row) => Item,
): Page<Item> {
  const shown = rows.slice(0, limit)
  return { items: shown.map(itemOf), next: rows.length > limit ? String(positionOf(shown.at(-1)!)) : null }
}

/** Whether an event has this type, as a type guard for a type that is a parameter. */
export function hasType<Type extends EventType>(event: SessionEvent, type: Type): event is EventOf<Type> {
  return event.type === type
}

/** A text that sorts after every text that begins with the prefix. */
export function endOfPrefix(prefix: string): string {
  return `${prefix}\u{10ffff}`
}
