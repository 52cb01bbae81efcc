import type { Listener, Store } from '@askback/core'
import { isCopy, type SessionEvent } from '@askback/protocol'
import { writeOrCut, type Reader } from './reader.js'

export interface AllEventsOptions {
  store: Store
  /** How they look on the wire, in one piece. `texts` are the events as JSON. */
  encode: (events: SessionEvent[], texts: string[]) => Buffer
  bufferBytes: number
  onError: (error: unknown) => void
}

type Listening = Pick<Reader, 'socket'>

const PAGE = 500

/** What every inbox and session list needs to know, of all sessions, from now on. */
export class AllEvents {
  readonly #options: AllEventsOptions
  readonly #readers = new Set<Listening>()
  /** Where others write too, the log of all is read from here: then the desk's word only says that there is more. */
  #cursor: string | null = null
  #reading: 'no' | 'yes' | 'again' = 'no'

  constructor(options: AllEventsOptions) {
    this.#options = options
  }

  async add(reader: Listening): Promise<void> {
    const { store } = this.#options
    if (store.shared) this.#cursor ??= await store.head()
    this.#readers.add(reader)
  }

  remove(reader: Listening): void {
    this.#readers.delete(reader)
    if (this.#readers.size === 0) this.#cursor = null
  }

  tell({ events, texts }: Parameters<Listener>[0]): void {
    if (this.#readers.size === 0) return
    if (!this.#options.store.shared) return this.#give(events, texts)
    if (this.#reading !== 'no') {
      this.#reading = 'again'
      return
    }
    this.#readAll().catch((error: unknown) => {
      this.#options.onError(error)
      // They come back and take a new look at everything.
      for (const { socket } of this.#readers) socket.destroy()
    })
  }

  async #readAll(): Promise<void> {
    try {
      do {
        this.#reading = 'yes'
        await this.#readPages()
      } while (this.#again)
    } finally {
      this.#reading = 'no'
    }
  }

  async #readPages(): Promise<void> {
    while (this.#cursor !== null) {
      const changes = await this.#options.store.changes({ after: this.#cursor, limit: PAGE })
      for (const { events } of changes) this.#give(events, () => events.map((event) => JSON.stringify(event)))
      const last = changes.at(-1)
      if (last && this.#cursor !== null) this.#cursor = last.cursor
      if (changes.length < PAGE) return
    }
  }

  get #again(): boolean {
    return this.#reading === 'again'
  }

  #give(events: SessionEvent[], texts: () => string[]): void {
    if (!events.some(concernsAll)) return
    const told = texts().filter((_, index) => concernsAll(events[index]!))
    const data = this.#options.encode(events.filter(concernsAll), told)
    for (const { socket } of this.#readers) writeOrCut(socket, data, this.#options.bufferBytes)
  }
}

function concernsAll(event: SessionEvent): boolean {
  return event.type === 'session_status' || (event.type.startsWith('interaction_') && !isCopy(event))
}
