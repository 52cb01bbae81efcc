import type { SessionEvent, SessionStateJson } from '@askback/protocol'
import type { Desk } from '../desk/desk.js'

/** A message of the log for an agent. */
export interface TurnMessage {
  id: string
  text: string
  turnId: string
}

/** What is known about agents that worked on the open turn before this process attended to the session. */
export interface PriorRun {
  /**
   * Whether an agent has worked on it. `maybe`: its process died, and messages without a reaction in the log are sent again. An agent
   * reports what it does before it does it, so nothing runs twice. But a message that crashes the process must not be sent
   * again and again: after the second loss an agent `presumably` received all of them.
   */
  run: 'never' | 'maybe' | 'presumably'
  /** A message that no agent has received. */
  messageId?: string | undefined
}

/** A session whose agent this process runs, or has to start again. */
export class AttendedSession {
  /** Messages that an agent received from this process, or that must not be sent any more. */
  readonly #sent = new Set<string>()
  /** Messages that an agent presumably received from another process. */
  readonly #presumed: Set<string>
  /** The agent of the open turn was lost: an answer or a message starts it again. */
  isInterrupted: boolean
  /** Why it was lost, until that is in the log. */
  unreportedLoss: string | null = null
  /** Ends following the log. */
  readonly stop: () => void

  constructor(state: SessionStateJson, before: PriorRun, stop: () => void) {
    const all = messagesIn(state)
    const open = all.filter(({ isOpen }) => isOpen)
    const answered = before.run === 'never' ? NOT_BEGUN : countAnswered(state)
    const named = open.findIndex(({ id }) => id === before.messageId)
    const presumed = before.run === 'presumably' ? (named < 0 ? open.length : named) : answered.messages
    const left = new Set(open.slice(presumed).map(({ id }) => id))
    this.#presumed = new Set(all.flatMap(({ id }) => (left.has(id) ? [] : [id])))
    this.isInterrupted =
      state.activeTurnId !== null && (answered.hasBegun || left.size < open.length || left.size === 0)
    this.stop = stop
  }

  /** Called when it is known that no agent has received this message. */
  expect(messageId: string): void {
    this.#presumed.delete(messageId)
  }

  /**
   * The messages to send, in the order of the log. A turn can end as `done` just before a message in it becomes durable: that
   * message is sent, too. If a turn was interrupted or failed, the person has seen that, and its messages are not sent.
   */
  takeMessages(state: SessionStateJson): TurnMessage[] {
    const all = messagesIn(state)
    const left = all.filter(({ id }) => !this.#sent.has(id) && !this.#presumed.has(id))
    this.#sent.clear()
    for (const { id } of all) if (!this.#presumed.has(id)) this.#sent.add(id)
    return left.filter(({ isOpen, isDone }) => isOpen || isDone)
  }
}

/**
 * The sessions that this process attends to. It follows the log of each without gaps, so it notices every durable event, also if the
 * process that wrote it died before it could send a command.
 */
export class AttendedSessions {
  readonly #desk: Desk
  readonly #changed: (sessionId: string, events: SessionEvent[]) => void
  readonly #deleted: (sessionId: string) => void
  readonly #sessions = new Map<string, AttendedSession>()

  constructor(
    desk: Desk,
    on: {
      changed: (sessionId: string, events: SessionEvent[]) => void
      deleted: (sessionId: string) => void
    },
  ) {
    this.#desk = desk
    this.#changed = on.changed
    this.#deleted = on.deleted
  }

  get(sessionId: string): AttendedSession | undefined {
    return this.#sessions.get(sessionId)
  }

  /** Follows the log and then reads it, so that nothing is missed in between. */
  async add(sessionId: string, before: PriorRun): Promise<AttendedSession> {
    const { stop } = await this.#desk.follow(sessionId, {
      advanced: ({ events }) => {
        if (events.some(isDeletion)) this.#deleted(sessionId)
        else this.#changed(sessionId, events)
      },
      gone: () => this.#deleted(sessionId),
    })
    try {
      const { state } = await this.#desk.snapshot(sessionId, { fresh: true })
      const session = new AttendedSession(state, before, stop)
      this.#sessions.set(sessionId, session)
      return session
    } catch (error) {
      stop()
      throw error
    }
  }

  delete(sessionId: string): void {
    this.#sessions.get(sessionId)?.stop()
    this.#sessions.delete(sessionId)
  }
}

const NOT_BEGUN = { hasBegun: false, messages: 0 }

/** Whether an agent has done something in the open turn, and how many messages came before the last of that. */
function countAnswered(state: SessionStateJson): typeof NOT_BEGUN {
  const open = state.turns.find((turn) => turn.turnId !== null && turn.turnId === state.activeTurnId)
  const items = open?.items ?? []
  const last = items.findLastIndex(({ type }) => type !== 'user_message' && type !== 'context_cleared')
  const before = items.slice(0, last + 1).filter(({ type }) => type === 'user_message')
  return { hasBegun: last >= 0, messages: before.length }
}

function messagesIn(state: SessionStateJson): (TurnMessage & { isOpen: boolean; isDone: boolean })[] {
  return state.turns.flatMap(({ turnId, items, reason }) => {
    if (turnId === null) return []
    const isOpen = turnId === state.activeTurnId
    return items.flatMap((item) =>
      item.type === 'user_message'
        ? [{ id: item.id, text: item.text, turnId, isOpen, isDone: reason === 'done' }]
        : [],
    )
  })
}

function isDeletion(event: SessionEvent): boolean {
  return event.type === 'session_status' && event.status === 'ended'
}
