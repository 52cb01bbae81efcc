import type { Desk } from '@askback/core'
import { isCopy, type SessionEvent } from '@askback/protocol'
import { GuardedReader, type AllEventsReader } from './guarded-reader.js'
import { writeOrDisconnect } from './open-streams.js'

export interface AllEventsOptions {
  desk: Desk
  /** Encodes events into one buffer. `texts` are the events as JSON. */
  encode: (events: SessionEvent[], texts: string[]) => Buffer
  /** Encodes the message that a session was deleted. */
  encodeGone: (sessionId: string) => Buffer
  bufferBytes: number
}

export type { AllEventsReader }

/** Delivers new events of all sessions that inboxes and session lists need: interactions and status changes. */
export class AllEvents {
  readonly #options: AllEventsOptions
  readonly #readers = new Set<AllEventsReader>()
  /** Readers that may read only some sessions. They are not among the others. */
  readonly #guarded = new Map<AllEventsReader, GuardedReader>()
  /** Resolves to a function that stops following. Set while there are readers. */
  #following: Promise<() => void> | null = null

  constructor(options: AllEventsOptions) {
    this.#options = options
  }

  /** Resolves when the reader will get everything that is committed from then on. */
  async add(reader: AllEventsReader): Promise<void> {
    const { guard } = reader
    const { clock } = this.#options.desk
    if (guard) this.#guarded.set(reader, new GuardedReader({ ...this.#options, clock, reader, guard }))
    else this.#readers.add(reader)
    this.#following ??= this.#options.desk.followAll(
      (events, texts) => this.#publish(events, texts),
      (sessionId) => this.#publishGone(sessionId),
    )
    try {
      await this.#following
    } catch (error) {
      this.#following = null
      this.#forget(reader)
      throw error
    }
  }

  remove(reader: AllEventsReader): void {
    this.#forget(reader)
    if (this.#readers.size + this.#guarded.size > 0 || !this.#following) return
    this.#following.then(
      (stop) => stop(),
      // Following never started, so there is nothing to stop.
      () => undefined,
    )
    this.#following = null
  }

  #publish(events: SessionEvent[], texts: () => string[]): void {
    const data = events.some(isForAllSessions) ? this.#encode(events, texts()) : null
    if (data) this.#write(data)
    if (this.#guarded.size === 0) return
    const tagged = events.find((event) => event.type === 'session_tags')
    const news = {
      sessionId: events[0]!.sessionId,
      data,
      ...(tagged && { tagsBefore: tagged.before ?? null }),
    }
    if (data || tagged) for (const reader of this.#guarded.values()) reader.receive(news)
  }

  #encode(events: SessionEvent[], texts: string[]): Buffer {
    const published = texts.filter((_, index) => isForAllSessions(events[index]!))
    return this.#options.encode(events.filter(isForAllSessions), published)
  }

  #publishGone(sessionId: string): void {
    this.#write(this.#options.encodeGone(sessionId))
    for (const reader of this.#guarded.values()) reader.receiveGone(sessionId)
  }

  #write(data: Buffer): void {
    for (const { socket } of this.#readers) writeOrDisconnect(socket, data, this.#options.bufferBytes)
  }

  #forget(reader: AllEventsReader): void {
    this.#readers.delete(reader)
    this.#guarded.get(reader)?.remove()
    this.#guarded.delete(reader)
  }
}

function isForAllSessions(event: SessionEvent): boolean {
  return event.type === 'session_status' || (event.type.startsWith('interaction_') && !isCopy(event))
}
