import type { Desk } from '@askback/core'
import { isCopy, type SessionEvent } from '@askback/protocol'
import { writeOrCut, type Reader } from './open-streams.js'

export interface AllEventsOptions {
  desk: Desk
  /** How they look on the wire, in one piece. `texts` are the events as JSON. */
  encode: (events: SessionEvent[], texts: string[]) => Buffer
  /** That a session was deleted. */
  encodeGone: (sessionId: string) => Buffer
  bufferBytes: number
}

type Listening = Pick<Reader, 'socket'>

/** What every inbox and session list needs to know, of all sessions, from now on. */
export class AllEvents {
  readonly #options: AllEventsOptions
  readonly #readers = new Set<Listening>()
  /** What ends following all sessions, from when the first reader comes until the last one leaves. */
  #following: Promise<() => void> | null = null

  constructor(options: AllEventsOptions) {
    this.#options = options
  }

  /** Resolves when everything that commits from then on is sent to the reader. */
  async add(reader: Listening): Promise<void> {
    this.#readers.add(reader)
    this.#following ??= this.#options.desk.followAll(
      (events, texts) => this.#give(events, texts),
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

  remove(reader: Listening): void {
    this.#readers.delete(reader)
    if (this.#readers.size > 0 || !this.#following) return
    this.#following.then(
      (stop) => stop(),
      // Then there is nothing to stop.
      () => undefined,
    )
    this.#following = null
  }

  #give(events: SessionEvent[], texts: () => string[]): void {
    if (!events.some(concernsAll)) return
    const shown = texts().filter((_, index) => concernsAll(events[index]!))
    this.#write(this.#options.encode(events.filter(concernsAll), shown))
  }

  #write(data: Buffer): void {
    for (const { socket } of this.#readers) writeOrCut(socket, data, this.#options.bufferBytes)
  }
}

function concernsAll(event: SessionEvent): boolean {
  return event.type === 'session_status' || (event.type.startsWith('interaction_') && !isCopy(event))
}
