import { AskbackError, type Interaction, type SessionEvent } from '@askback/protocol'
import type { Clock } from '../clock.js'
import { Deadlines } from './deadlines.js'

const RETRY_MS = 1000

type Asked = Pick<Interaction, 'sessionId' | 'interactionId' | 'expiresAt' | 'onTimeout'>

interface Ports {
  clock: Clock
  /** Resolves to the interaction as it stands then. */
  expire: (sessionId: string, interactionId: string) => Promise<Interaction | undefined>
  onError: (error: unknown) => void
}

/** Settles what is pending at its deadline. */
export class Timeouts {
  readonly #ports: Ports
  readonly #deadlines: Deadlines
  #closed = false

  constructor(ports: Ports) {
    this.#ports = ports
    this.#deadlines = new Deadlines(ports.clock, ({ sessionId, interactionId }) =>
      this.#expire(sessionId, interactionId),
    )
  }

  /** Unless it is set: what could not be settled just now is tried again in a second, not at once. */
  set(sessionId: string, interactionId: string, at: number): void {
    if (!this.#closed && !this.#deadlines.has(interactionId))
      this.#deadlines.set({ sessionId, interactionId, at })
  }

  arm({ sessionId, interactionId, expiresAt, onTimeout }: Asked): void {
    if (expiresAt !== undefined && onTimeout !== 'keep') this.set(sessionId, interactionId, expiresAt)
  }

  /** Whoever appended them: a process that opens an interaction may be gone at its deadline. */
  heed(events: SessionEvent[]): void {
    for (const event of events) {
      if (event.type === 'interaction_request') this.arm(event)
      if (event.type === 'interaction_response') this.#deadlines.delete(event.interactionId)
    }
  }

  close(): void {
    this.#closed = true
    this.#deadlines.clear()
  }

  #expire(sessionId: string, interactionId: string): void {
    const { clock, expire, onError } = this.#ports
    expire(sessionId, interactionId).then(
      // Still pending: the clock was set back on the way here.
      (item) => item?.status === 'pending' && this.arm(item),
      (error: unknown) => {
        if (this.#closed || (error instanceof AskbackError && error.code === 'not_found')) return
        onError(error)
        this.#deadlines.set({ sessionId, interactionId, at: clock.now() + RETRY_MS })
      },
    )
  }
}
