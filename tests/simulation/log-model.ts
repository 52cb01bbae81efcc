import type { Append, ApprovalRule } from '@askback/core'
import type { EventOf, PermissionMode, SessionEvent } from '@askback/protocol'
import type { Sent } from './sent.js'
import { holds } from './violation.js'

/** An interaction as it stands in the log. */
export interface LoggedInteraction {
  session: LoggedSession
  request: EventOf<'interaction_request'>
  response?: EventOf<'interaction_response'>
  claim?: EventOf<'interaction_delivered'>
  /** Whether the process that claimed it got the store's confirmation. */
  isClaimConfirmed: boolean
  /** Whether the process that claimed it is still running. */
  claimantLives: () => boolean
  handedOver: boolean
  /** How often a waiter received it as an approval that may run. */
  granted: number
}

export interface LoggedSession {
  id: string
  /** The id of its first event: a session that was created again under the same id has another. */
  logId: string
  events: SessionEvent[]
  /** The highest `seq` that any process has delivered. */
  deliveredSeq: number
  agent: string | null
  cwd: string | null
  mode: PermissionMode
  activeTurnId: string | null
  failed: boolean
  ended: boolean
  pending: Set<string>
  /** Whether each tool call has ended. */
  calls: Map<string, boolean>
  /** The names of the actors of its messages; each message has its own. */
  said: Set<string>
  interactions: LoggedInteraction[]
}

export type StoredRule = Pick<ApprovalRule, 'id' | 'scope'> & {
  sessionId?: string
  cwd?: string
  agent?: string | null
  /** The log that made it. */
  logId: string
}

/** The committed logs in a model of their own, independent of the code under test. The rules are checked against it. */
export class LogModel {
  readonly sessions = new Map<string, LoggedSession>()
  /** By log id, including erased ones. */
  readonly logs = new Map<string, LoggedSession>()
  readonly interactions = new Map<string, LoggedInteraction>()
  readonly responses: EventOf<'interaction_response'>[] = []
  readonly sent = new Map<string, Sent>()
  /** All rules that were ever stored, by key. */
  readonly rules = new Map<string, StoredRule>()
  /** The ids of rules for which a deletion was requested. */
  readonly removed = new Set<string>()
  /** In the order in which the store committed them. */
  readonly commits: { session: LoggedSession; events: SessionEvent[] }[] = []
  /** The log of each event, by event id. */
  readonly #logs = new Map<string, LoggedSession>()

  /** Adds a committed append. Checks only the form of the log; `checkCommit` compares the state before and after. */
  commit({ sessionId, events, kv = [] }: Append): LoggedSession {
    const first = events[0]!
    if (first.type === 'session_started') this.#begin(first)
    const session = this.sessions.get(sessionId)
    holds(session !== undefined, 'log', () => `an append to ${sessionId}, which does not exist`)
    holds(!session.ended, 'log', () => `an append to ${sessionId} after its end`)
    for (const event of events) {
      holds(
        event.seq === session.events.length + 1,
        'gapless',
        () => `${sessionId} has ${event.seq} out of order`,
      )
      holds(event.sessionId === sessionId, 'log', () => `${event.id} says it is of ${event.sessionId}`)
      holds(!this.#logs.has(event.id), 'unique ids', () => `the event id ${event.id} is there twice`)
      this.#logs.set(event.id, session)
      session.events.push(event)
      this.#apply(session, event)
    }
    this.commits.push({ session, events })
    for (const { key, value } of kv) {
      const rule = value as unknown as StoredRule
      if (key.startsWith('rule/')) this.rules.set(key, { ...rule, logId: session.logId })
    }
    return session
  }

  erase(sessionId: string): void {
    const session = this.sessions.get(sessionId)
    if (!session) return
    holds(session.ended, 'deletion', () => `${sessionId} was erased without an end`)
    this.sessions.delete(sessionId)
  }

  /** The interaction that ends a wait for this one: a wait follows reprompts (L6), but no other successor (L11). */
  last(interactionId: string): LoggedInteraction {
    let asked = this.known(interactionId)
    for (;;) {
      const next = asked.response?.supersededBy
      const after = next === undefined ? undefined : this.interactions.get(next)
      if (!after?.request.errors) return asked
      asked = after
    }
  }

  /** The log that holds this event, erased or not. */
  logWith(eventId: string): LoggedSession | undefined {
    return this.#logs.get(eventId)
  }

  known(interactionId: string): LoggedInteraction {
    const asked = this.interactions.get(interactionId)
    holds(asked !== undefined, 'durable first', () => `${interactionId} was returned, but is not in the log`)
    return asked
  }

  #begin(event: EventOf<'session_started'>): void {
    const { sessionId: id, agent, cwd = null, permissionMode: mode } = event
    holds(!this.sessions.has(id), 'log', () => `${id} was started twice`)
    const session: LoggedSession = {
      id,
      logId: event.id,
      events: [],
      deliveredSeq: 0,
      agent,
      cwd,
      mode,
      activeTurnId: null,
      failed: false,
      ended: false,
      pending: new Set(),
      calls: new Map(),
      said: new Set(),
      interactions: [],
    }
    this.sessions.set(id, session)
    this.logs.set(event.id, session)
  }

  #apply(session: LoggedSession, event: SessionEvent): void {
    switch (event.type) {
      case 'user_message': {
        const { name = '' } = event.by
        holds(!session.said.has(name), 'idempotency', () => `the message ${name} is there twice`)
        session.said.add(name)
        break
      }
      case 'turn_started':
        session.activeTurnId = event.turnId
        session.failed = false
        break
      case 'turn_ended':
        if (session.activeTurnId === event.turnId) session.activeTurnId = null
        break
      case 'tool_call':
        holds(!session.calls.has(event.toolCallId), 'report', () => `${event.toolCallId} is there twice`)
        session.calls.set(event.toolCallId, false)
        break
      case 'tool_result':
        holds(session.calls.get(event.toolCallId) === false, 'report', () => `${event.toolCallId} ends twice`)
        session.calls.set(event.toolCallId, true)
        break
      case 'error':
        session.failed ||= event.fatal
        break
      case 'session_status':
        session.mode = event.permissionMode
        session.ended = event.status === 'ended'
        break
      case 'interaction_pending': {
        const { interactionId, pending } = event
        const twice = () => `${interactionId} is recorded as pending: ${pending} twice`
        holds(session.pending.has(interactionId) !== pending, 'L2', twice)
        holds(!pending || !this.interactions.has(interactionId), 'L2', twice)
        if (pending) session.pending.add(interactionId)
        else session.pending.delete(interactionId)
        break
      }
      case 'interaction_request':
        this.#open(session, event)
        break
      case 'interaction_response':
        this.#settle(session, event)
        break
      case 'interaction_delivered':
        this.#claim(event)
        break
      default:
    }
  }

  #open(session: LoggedSession, request: EventOf<'interaction_request'>): void {
    const { interactionId } = request
    holds(!this.interactions.has(interactionId), 'unique ids', () => `${interactionId} is asked twice`)
    const asked: LoggedInteraction = {
      session,
      request,
      isClaimConfirmed: false,
      claimantLives: () => false,
      handedOver: false,
      granted: 0,
    }
    this.interactions.set(interactionId, asked)
    session.interactions.push(asked)
  }

  #settle(session: LoggedSession, response: EventOf<'interaction_response'>): void {
    const { interactionId } = response
    const asked = this.interactions.get(interactionId)
    holds(asked?.session === session, 'L3', () => `a response to ${interactionId}, which was not asked`)
    holds(!asked.response, 'L3', () => `${interactionId} has two responses`)
    asked.response = response
    this.responses.push(response)
  }

  #claim(event: EventOf<'interaction_delivered'>): void {
    const asked = this.interactions.get(event.interactionId)
    holds(
      asked?.response !== undefined,
      'L10',
      () => `${event.interactionId} is claimed before it is settled`,
    )
    holds(!asked.claim, 'L10', () => `${event.interactionId} is claimed twice`)
    asked.claim = event
  }
}
