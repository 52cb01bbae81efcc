import type { Clock, Interaction } from '@askback/protocol'

/**
 * Server time, as far as this client knows it. Deadlines are in server time, and the clock of this machine may be wrong by
 * hours. A snapshot tells the offset between the two; the times of events only give a lower bound for it.
 */
export class ServerClock {
  readonly #clock: Clock
  #offsetMs: number | null = null
  #isKnown = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether the server was asked. Events bound the time as well, but do not say how long ago they happened. */
  get isKnown(): boolean {
    return this.#isKnown
  }

  now(): number {
    return this.#clock.now() + (this.#offsetMs ?? 0)
  }

  /** Makes a request whose reply has the server time, and sets the clock by it, assuming equal times for both ways. */
  async setBy<T extends { now: number }>(request: () => Promise<T>): Promise<T> {
    const sentAt = this.#clock.now()
    const reply = await request()
    this.#offsetMs = reply.now - (sentAt + this.#clock.now()) / 2
    this.#isKnown = true
    return reply
  }

  /** Moves the clock forward to the time of an event: what has happened is not in the future. */
  observe(at: number): void {
    const offsetMs = at - this.#clock.now()
    this.#offsetMs = Math.max(this.#offsetMs ?? offsetMs, offsetMs)
  }
}

/**
 * Milliseconds until the deadline of an interaction, between 0 and the time it was given. `null` if it has no deadline or is
 * settled.
 *
 * @param serverNow - server time, from `serverNow()` of a store
 *
 * @example
 * const ms = timeLeft(interaction, client.inbox.serverNow())
 */
export function timeLeft(
  { status, requestedAt, expiresAt }: Pick<Interaction, 'status' | 'requestedAt' | 'expiresAt'>,
  serverNow: number,
): number | null {
  if (status === 'settled' || expiresAt === undefined) return null
  return Math.max(0, Math.min(expiresAt - serverNow, expiresAt - requestedAt))
}
