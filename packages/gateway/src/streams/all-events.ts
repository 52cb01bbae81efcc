import type { Desk } from '@askback/core'
import { isCopy, type SessionEvent } from '@askback/protocol'
import { writeOrDisconnect, type EventReader } from './open-streams.js'

export interface AllEventsOptions {
  desk: Desk
  /** Encodes events into one buffer. `texts` are the events as JSON. */
  encode: (events: SessionEvent[], texts: string[]) => Buffer
  /** Encodes the message that a session was deleted. */
  encodeGone: (sessionId: string) => Buffer
  bufferBytes: number
}

type AllEventsReader = Pick<EventReader, 'socket'>

/** Delivers new events of all sessions that inboxes and session lists need: interactions and status changes. */
export class AllEvents {
  readonly #options: AllEventsOptions
  readonly #readers = new Set<AllEventsReader>()
  /** Resolves to a function that stops following. Set while there are readers. */
  #following: Promise<() => void> | null = null

  constructor(options: AllEventsOptions) {
    this.#options = options
  }

  /** Resolves when the reader will get everything that is committed from then on. */
  async add(reader: AllEventsReader): Promise<void> {
    this.#readers.add(reader)
    this.#following ??= this.#options.desk.followAll(
      (events, texts) => this.#publish(events, texts),
      (sessionId) => this.#write(this.#options.encodeGone(sessionId)),
    )
    try {
      await this.#following
    } catch (error) {
      this.#following = null
      this.#readers.delete(reader)
      throw error
    }
  }

  remove(reader: AllEventsReader): void {
    this.#readers.delete(reader)
    if (this.#readers.size > 0 || !this.#following) return
    this.#following.then(
      (stop) => stop(),
      // Following never started, so there is nothing to stop.
      () => undefined,
    )
    this.#following = null
  }

  #publish(events: SessionEvent[], texts: () => string[]): void {
    if (!events.some(isForAllSessions)) return
    const published = texts().filter((_, index) => isForAllSessions(events[index]!))
    this.#write(this.#options.encode(events.filter(isForAllSessions), published))
  }

  #write(data: Buffer): void {
    for (const { socket } of this.#readers) writeOrDisconnect(socket, data, this.#options.bufferBytes)
  }
}

function isForAllSessions(event: SessionEvent): boolean {
  return event.type === 'session_status' || (event.type.startsWith('interaction_') && !isCopy(event))
}
