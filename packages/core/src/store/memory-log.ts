import type { EventOf, Json, Session, SessionEvent, AuditRow } from '@askback/protocol'
import { auditRows, withoutMessage } from './audit.js'
import { pendingChanges, rowTags, sessionChange, sessionInfo, type InteractionParts } from './records.js'
import type { SessionRow, Snapshot } from './store.js'

/** Something with a position in one order over all sessions. Positions only grow. */
export interface Positioned {
  readonly position: number
}

export interface LoggedInteraction extends InteractionParts, Positioned {
  session: LoggedSession
  isErased: boolean
}

export interface LoggedSession extends Positioned {
  info: Omit<Session, 'status' | 'permissionMode' | 'tags'>
  status: Session['status']
  permissionMode: Session['permissionMode']
  events: SessionEvent[]
  /** Whether each tool call has ended. */
  toolCalls: Map<string, boolean>
  /** By tool call. Most calls have one interaction, and a list around it would need as much memory again. */
  interactions: Map<string, LoggedInteraction | LoggedInteraction[]>
  pending: PositionedList<LoggedInteraction>
  snapshot: Snapshot | null
}

interface Commit extends Positioned {
  session: LoggedSession
  /** Indexes into the session's events. */
  from: number
  to: number
}

/** The log of all sessions and its indexes. Each event is stored once; the indexes refer to it. */
export class MemoryLog {
  readonly sessions = new Map<string, LoggedSession>()
  readonly interactions = new Map<string, LoggedInteraction>()
  readonly pending = pendingList()
  audit: AuditRow[] = []
  commits: Commit[] = []
  /** Oldest first. */
  byAge: LoggedSession[] = []
  #position = 0

  nextPosition(): number {
    return ++this.#position
  }

  append(sessionId: string, events: SessionEvent[]): void {
    const session = this.sessions.get(sessionId) ?? this.#begin(events)
    const from = session.events.length
    const pending = pendingChanges(events)
    for (const event of events) {
      session.events.push(event)
      for (const row of auditRows(event)) this.audit.push(row)
      this.#index(session, event, pending)
    }
    for (const [interactionId, isPending] of pending) if (!isPending) this.#close(session, interactionId)
    const { status, permissionMode } = sessionChange(events)
    if (status !== undefined) session.status = status
    if (permissionMode !== undefined) session.permissionMode = permissionMode
    this.commits.push({ position: this.nextPosition(), session, from, to: session.events.length })
  }

  changes(after: number, limit: number): Commit[] {
    const start = indexAfter(this.commits, after)
    return this.commits.slice(start, start + limit)
  }

  erase(sessionId: string): void {
    const session = this.sessions.get(sessionId)
    if (!session) return
    this.sessions.delete(sessionId)
    this.byAge = this.byAge.filter((other) => other !== session)
    this.commits = this.commits.filter((commit) => commit.session !== session)
    this.audit = this.audit.map((row) => (row.sessionId === sessionId ? withoutMessage(row) : row))
    for (const interaction of [...session.interactions.values()].flat()) {
      this.interactions.delete(interaction.request.interactionId)
      interaction.isErased = true
      if (interaction.pending) this.pending.itemRemoved()
    }
  }

  #begin(events: SessionEvent[]): LoggedSession {
    const session: LoggedSession = {
      position: this.nextPosition(),
      info: sessionInfo(events),
      status: 'idle',
      permissionMode: 'default',
      events: [],
      toolCalls: new Map(),
      interactions: new Map(),
      pending: pendingList(),
      snapshot: null,
    }
    this.sessions.set(session.info.id, session)
    this.byAge.push(session)
    return session
  }

  #index(session: LoggedSession, event: SessionEvent, pending: ReadonlyMap<string, boolean>): void {
    switch (event.type) {
      case 'tool_call':
        if (!session.toolCalls.has(event.toolCallId)) session.toolCalls.set(event.toolCallId, false)
        break
      case 'tool_result':
        if (session.toolCalls.has(event.toolCallId)) session.toolCalls.set(event.toolCallId, true)
        break
      case 'interaction_request':
        this.#open(session, event, pending.get(event.interactionId) === true)
        break
      case 'interaction_progress': {
        const interaction = this.interactions.get(event.interactionId)
        if (interaction) interaction.progress = event
        break
      }
      case 'interaction_response': {
        const interaction = this.interactions.get(event.interactionId)
        if (interaction) interaction.response = event
        break
      }
      case 'interaction_delivered': {
        const interaction = this.interactions.get(event.interactionId)
        if (interaction) interaction.delivered = true
        break
      }
      default:
    }
  }

  #close(session: LoggedSession, interactionId: string): void {
    const interaction = this.interactions.get(interactionId)
    if (!interaction?.pending) return
    interaction.pending = false
    session.pending.itemRemoved()
    this.pending.itemRemoved()
  }

  #open(session: LoggedSession, request: EventOf<'interaction_request'>, pending: boolean): void {
    const interaction: LoggedInteraction = {
      position: this.nextPosition(),
      session,
      request,
      progress: undefined,
      response: undefined,
      delivered: false,
      pending,
      isErased: false,
    }
    const others = session.interactions.get(request.toolCallId)
    if (Array.isArray(others)) others.push(interaction)
    else session.interactions.set(request.toolCallId, others ? [others, interaction] : interaction)
    this.interactions.set(request.interactionId, interaction)
    if (!pending) return
    session.pending.add(interaction)
    this.pending.add(interaction)
  }
}

export function updatedAt({ events }: LoggedSession): number {
  return events.at(-1)!.at
}

export function rowOf(session: LoggedSession, tags: Json | undefined): SessionRow {
  const { info, status, permissionMode } = session
  return { ...info, status, permissionMode, updatedAt: updatedAt(session), ...rowTags(tags) }
}

function pendingList(): PositionedList<LoggedInteraction> {
  return new PositionedList(({ isErased, pending }) => isErased || !pending)
}

/**
 * A list in the order of positions from which items may be removed anywhere. An item says of itself that it was removed; the list
 * is rewritten when half of it was. So an item costs eight bytes, and reading a page needs no scan.
 */
class PositionedList<T extends Positioned> {
  #items: T[] = []
  #removed = 0
  readonly #isRemoved: (item: T) => boolean

  constructor(isRemoved: (item: T) => boolean) {
    this.#isRemoved = isRemoved
  }

  get size(): number {
    return this.#items.length - this.#removed
  }

  add(item: T): void {
    // A push into an empty array allocates sixteen more elements, in each of a hundred thousand sessions.
    if (this.#items.length === 0) this.#items = [item]
    else this.#items.push(item)
  }

  /** To be called after one item of the list has become one that `isRemoved`. */
  itemRemoved(): void {
    this.#removed += 1
    if (this.#removed < 32 || this.#removed * 2 < this.#items.length) return
    this.#items = this.#items.filter((item) => !this.#isRemoved(item))
    this.#removed = 0
  }

  after(position: number, limit: number): T[] {
    const found: T[] = []
    for (
      let index = indexAfter(this.#items, position);
      index < this.#items.length && found.length < limit;
      index++
    ) {
      const item = this.#items[index]!
      if (!this.#isRemoved(item)) found.push(item)
    }
    return found
  }
}

/** The index of the first item after `position`, by binary search. */
export function indexAfter(items: readonly Positioned[], position: number): number {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (items[middle]!.position > position) high = middle
    else low = middle + 1
  }
  return low
}
