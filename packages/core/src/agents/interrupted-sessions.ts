import { AskbackError, type SessionEvent } from '@askback/protocol'
import type { Desk } from '../desk/desk.js'

/**
 * Sessions whose agent was lost in the middle of a turn. Each is followed, so that an answer that comes to any process, also
 * while the session is not in memory here, starts the agent again.
 */
export class InterruptedSessions {
  readonly #desk: Desk
  readonly #answered: (sessionId: string) => void
  /** With what ends following each. */
  readonly #stops = new Map<string, { stop: () => void }>()

  constructor(desk: Desk, answered: (sessionId: string) => void) {
    this.#desk = desk
    this.#answered = answered
  }

  has(sessionId: string): boolean {
    return this.#stops.has(sessionId)
  }

  /** It is one of them at once. Resolves when every later answer is heard: earlier ones are in the log by then. */
  async add(sessionId: string): Promise<void> {
    if (this.#stops.has(sessionId)) return
    const entry = { stop: () => {} }
    this.#stops.set(sessionId, entry)
    try {
      const { stop } = await this.#desk.follow(sessionId, {
        advanced: ({ events }) => {
          if (this.#stops.get(sessionId) === entry && isAnswer(events)) this.#answered(sessionId)
        },
        gone: () => this.delete(sessionId),
      })
      if (this.#stops.get(sessionId) === entry) entry.stop = stop
      else stop()
    } catch (error) {
      // Nobody follows it: whoever tries again must not find it here.
      if (this.#stops.get(sessionId) === entry) this.#stops.delete(sessionId)
      const isDeleted = error instanceof AskbackError && error.code === 'not_found'
      if (!isDeleted) throw error
    }
  }

  /** Whether it was one of them. */
  delete(sessionId: string): boolean {
    this.#stops.get(sessionId)?.stop()
    return this.#stops.delete(sessionId)
  }
}

function isAnswer(events: SessionEvent[]): boolean {
  return events.some((event) => event.type === 'interaction_response')
}
