import type { AskbackError, SessionEvent } from '@askback/protocol'
import type { Pauses } from '../pauses.js'
import { isPassing } from '../transport/http-errors.js'
import type { ChangesHub } from './changes-hub.js'
import { ExternalStore, type StoreOptions } from './external-store.js'
import type { ConnectionStatus } from './session-feed.js'

export interface ListView<T> {
  readonly connection: ConnectionStatus
  readonly error: AskbackError | null
  /** `null` until the first page is there. */
  readonly items: readonly T[] | null
  /** Whether there are more than these. */
  readonly more: boolean
}

export interface ListStoreOptions extends StoreOptions {
  changes: ChangesHub
  pauses: Pauses
}

export interface Page<T> {
  items: T[]
  next: string | null
}

const PAGE = 100
const LARGEST_PAGE = 1000

/** A list over all sessions: fetched whenever the stream of changes opens, and kept up to date by it. */
export abstract class ListStore<T, View extends ListView<T> = ListView<T>> extends ExternalStore<View> {
  readonly #options: ListStoreOptions
  #page: Page<T> | null = null
  #connection: ConnectionStatus = 'connecting'
  #error: AskbackError | null = null
  /** What happened while the page was on its way, which may or may not know of it. */
  #meanwhile: SessionEvent[] | null = null
  #fetching: AbortController | null = null
  #isStale = false
  #stopListening: () => void = () => undefined

  constructor(options: ListStoreOptions) {
    super(options)
    this.#options = options
  }

  /** The next page. */
  async loadMore(): Promise<void> {
    const page = this.#page
    if (!page || page.next === null) return
    const more = await this.fetch({ after: page.next, limit: PAGE })
    // A new first page has come in between.
    if (this.#page?.next !== page.next) return
    this.#page = { items: [...this.#page.items, ...more.items], next: more.next }
    this.changed()
  }

  /** The whole list once more. */
  refresh(): void {
    this.#isStale = true
    if (this.#fetching) return
    const fetching = new AbortController()
    this.#fetching = fetching
    this.#fetchAll(fetching.signal)
      .catch((error: unknown) => {
        this.#error = error as AskbackError
        this.changed()
      })
      .finally(() => {
        if (this.#fetching === fetching) this.#fetching = null
      })
  }

  protected abstract fetch(query: { after?: string; limit: number }): Promise<Page<T>>
  /** The list after an event, the same if that changes nothing; `null` if only the gateway knows. */
  protected abstract apply(page: Page<T>, event: SessionEvent): T[] | null

  protected list(): ListView<T> {
    const { items = null, next = null } = this.#page ?? {}
    return { connection: this.#connection, error: this.#error, items, more: next !== null }
  }

  /** What happened, told by another way than the stream. */
  protected take(event: SessionEvent): void {
    this.#meanwhile?.push(event)
    this.#take(event)
  }

  protected override start(): void {
    this.#stopListening = this.#options.changes.on({
      connection: (status, error) => {
        this.#connection = status
        this.#error = error
        if (status === 'live') this.refresh()
        this.changed()
      },
      event: (event) => this.take(event),
    })
  }

  protected override stop(): void {
    this.#stopListening()
    this.#fetching?.abort()
    this.#fetching = null
    this.#connection = 'connecting'
  }

  async #fetchAll(signal: AbortSignal): Promise<void> {
    const limit = Math.min(Math.max(this.#page?.items.length ?? 0, PAGE), LARGEST_PAGE)
    for (let failures = 1; this.#isStale && !signal.aborted; failures++) {
      this.#isStale = false
      this.#meanwhile = []
      try {
        const page = await this.fetch({ limit })
        if (signal.aborted) return
        this.#fill(page, this.#meanwhile)
      } catch (error) {
        if (!isPassing(error)) throw error
        this.#isStale = true
        await this.#options.pauses.before(failures, signal)
      }
    }
  }

  #fill(page: Page<T>, missed: SessionEvent[]): void {
    this.#meanwhile = null
    this.#page = page
    this.#error = null
    for (const event of missed) this.#take(event)
    this.changed()
  }

  #take(event: SessionEvent): void {
    if (!this.#page) return
    const items = this.apply(this.#page, event)
    if (items === null) return this.refresh()
    if (items === this.#page.items) return
    this.#page = { ...this.#page, items }
    this.changed()
  }
}
