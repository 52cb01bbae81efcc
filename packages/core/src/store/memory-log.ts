import type { EventOf, Session, SessionEvent, AuditRow } from '@askback/protocol'
import { auditRows, withoutMessage } from './audit.js'
import { indexAfter, PlacedList, type Placed } from './by-place.js'
import { pendingChanges, sessionChange, sessionInfo, type InteractionParts } from './records.js'
import type { SessionRow, Snapshot } from './store.js'

export interface Asked extends InteractionParts, Placed {
  session: LoggedSession
  erased: boolean
}

export interface LoggedSession extends Placed {
  info: Omit<Session, 'status' | 'permissionMode'>
  status: Session['status']
  permissionMode: Session['permissionMode']
  events: SessionEvent[]
  /** Whether each tool call has ended. */
  toolCalls: Map<string, boolean>
  /** By tool call: mostly one, and a list for each would be as large. */
  asked: Map<string, Asked | Asked[]>
  pending: PlacedList<Asked>
  snapshot: Snapshot | null
}

interface Commit extends Placed {
  session: LoggedSession
  /** Indexes into the session's events. */
  from: number
  to: number
}

/** The log of all sessions and its indexes. Each event is kept once; everything else points at it. */
export class MemoryLog {
  readonly sessions = new Map<string, LoggedSession>()
  readonly interactions = new Map<string, Asked>()
  readonly pending = pendingList()
  audit: AuditRow[] = []
  commits: Commit[] = []
  inOrder: LoggedSession[] = []
  #place = 0

  nextPlace(): number {
    return ++this.#place
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
    this.commits.push({ place: this.nextPlace(), session, from, to: session.events.length })
  }

  changes(after: number, limit: number): Commit[] {
    const start = indexAfter(this.commits, after)
    return this.commits.slice(start, start + limit)
  }

  erase(sessionId: string): void {
    const session = this.sessions.get(sessionId)
    if (!session) return
    this.sessions.delete(sessionId)
    this.inOrder = this.inOrder.filter((other) => other !== session)
    this.commits = this.commits.filter((commit) => commit.session !== session)
    this.audit = this.audit.map((row) => (row.sessionId === sessionId ? withoutMessage(row) : row))
    for (const asked of [...session.asked.values()].flat()) {
      this.interactions.delete(asked.request.interactionId)
      asked.erased = true
      if (asked.pending) this.pending.leave()
    }
  }

  #begin(events: SessionEvent[]): LoggedSession {
    const session: LoggedSession = {
      place: this.nextPlace(),
      info: sessionInfo(events),
      status: 'idle',
      permissionMode: 'default',
      events: [],
      toolCalls: new Map(),
      asked: new Map(),
      pending: pendingList(),
      snapshot: null,
    }
    this.sessions.set(session.info.id, session)
    this.inOrder.push(session)
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
        const asked = this.interactions.get(event.interactionId)
        if (asked) asked.progress = event
        break
      }
      case 'interaction_response': {
        const asked = this.interactions.get(event.interactionId)
        if (asked) asked.response = event
        break
      }
      case 'interaction_delivered': {
        const asked = this.interactions.get(event.interactionId)
        if (asked) asked.delivered = true
        break
      }
      default:
    }
  }

  #close(session: LoggedSession, interactionId: string): void {
    const asked = this.interactions.get(interactionId)
    if (!asked?.pending) return
    asked.pending = false
    session.pending.leave()
    this.pending.leave()
  }

  #open(session: LoggedSession, request: EventOf<'interaction_request'>, pending: boolean): void {
    const asked: Asked = {
      place: this.nextPlace(),
      session,
      request,
      progress: undefined,
      response: undefined,
      delivered: false,
      pending,
      erased: false,
    }
    const others = session.asked.get(request.toolCallId)
    if (Array.isArray(others)) others.push(asked)
    else session.asked.set(request.toolCallId, others ? [others, asked] : asked)
    this.interactions.set(request.interactionId, asked)
    if (!pending) return
    session.pending.add(asked)
    this.pending.add(asked)
  }
}

export function updatedAt({ events }: LoggedSession): number {
  return events.at(-1)!.at
}

export function rowOf(session: LoggedSession): SessionRow {
  const { info, status, permissionMode } = session
  return { ...info, status, permissionMode, updatedAt: updatedAt(session) }
}

function pendingList(): PlacedList<Asked> {
  return new PlacedList((asked) => asked.erased || !asked.pending)
}
