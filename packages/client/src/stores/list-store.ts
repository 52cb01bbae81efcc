import type { AskbackError, Backoff, SessionEvent } from '@askback/protocol'
import { isRetryable } from '../transport/gateway-errors.js'
import type { ChangesHub } from './changes-hub.js'
import { ExternalStore, type StoreOptions } from './external-store.js'
import type { ConnectionStatus } from './session-feed.js'

export interface ListView<T> {
  readonly connection: ConnectionStatus
  readonly error: AskbackError | null
  /** `null` until the first page was fetched. */
  readonly items: readonly T[] | null
  /** Whether there are more than these: `loadMore` fetches them. */
  readonly more: boolean
}

export interface ListStoreOptions extends StoreOptions {
  changes: ChangesHub
  backoff: Backoff
}

export interface ListPage<T> {
  items: T[]
  next: string | null
}

const PAGE_SIZE = 100
const MAX_PAGE_SIZE = 1000

/**
 * A list over all sessions. It is fetched each time the stream of changes opens, and then updated with the events of that
 * stream. Events that arrive during a fetch are applied again to the fetched page, which may or may not include them.
 */
export abstract class ListStore<T, View extends ListView<T> = ListView<T>> extends ExternalStore<View> {
  readonly #options: ListStoreOptions
  #page: ListPage<T> | null = null
  #connection: ConnectionStatus = 'connecting'
  #error: AskbackError | null = null
  /** The events and deletions that have arrived since the running fetch started. */
  #duringFetch: (SessionEvent | { gone: string })[] | null = null
  #fetching: AbortController | null = null
  #isStale = false
  #stopListening: () => void = () => undefined

  constructor(options: ListStoreOptions) {
    super(options)
    this.#options = options
  }

  /** Fetches the next page. Rejects if that fails. */
  async loadMore(): Promise<void> {
    const page = this.#page
    if (!page || page.next === null) return
    const more = await this.fetch({ after: page.next, limit: PAGE_SIZE })
    // The list was fetched again in between.
    if (this.#page?.next !== page.next) return
    this.#page = { items: [...this.#page.items, ...more.items], next: more.next }
    this.changed()
  }

  /** Fetches the list again. If that fails for good, the view has the error. */
  refresh(): void {
    this.#isStale = true
    if (this.#fetching) return
    const fetching = new AbortController()
    this.#fetching = fetching
    this.#fetchAll(fetching.signal)
      .catch((error: unknown) => {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- transports throw nothing else
        this.#error = error as AskbackError
        this.changed()
      })
      .finally(() => {
        if (this.#fetching === fetching) this.#fetching = null
      })
  }

  protected abstract fetch(query: { after?: string; limit: number }): Promise<ListPage<T>>
  /** The items after an event: the same array if nothing changes, `null` if the list has to be fetched again. */
  protected abstract apply(page: ListPage<T>, event: SessionEvent): T[] | null

  /** The items without those of a deleted session: the same array if there are none. */
  protected abstract without(items: T[], sessionId: string): T[]

  protected list(): ListView<T> {
    const { items = null, next = null } = this.#page ?? {}
    return { connection: this.#connection, error: this.#error, items, more: next !== null }
  }

  /** Applies an event, from the stream or from the reply to an answer. */
  protected receive(event: SessionEvent): void {
    this.#duringFetch?.push(event)
    this.#applyEvent(event)
  }

  protected override start(): void {
    this.#stopListening = this.#options.changes.on({
      connection: (status, error) => {
        this.#connection = status
        this.#error = error
        if (status === 'live') this.refresh()
        this.changed()
      },
      event: (event) => this.receive(event),
      gone: (sessionId) => {
        this.#duringFetch?.push({ gone: sessionId })
        this.#remove(sessionId)
      },
    })
  }

  protected override stop(): void {
    this.#stopListening()
    this.#fetching?.abort()
    this.#fetching = null
    this.#connection = 'connecting'
  }

  async #fetchAll(signal: AbortSignal): Promise<void> {
    const limit = Math.min(Math.max(this.#page?.items.length ?? 0, PAGE_SIZE), MAX_PAGE_SIZE)
    for (let failures = 1; this.#isStale && !signal.aborted; failures++) {
      this.#isStale = false
      this.#duringFetch = []
      try {
        const page = await this.fetch({ limit })
        if (signal.aborted) return
        this.#fill(page, this.#duringFetch)
      } catch (error) {
        if (!isRetryable(error)) throw error
        this.#isStale = true
        await this.#options.backoff.wait(failures, signal)
      }
    }
  }

  #fill(page: ListPage<T>, missed: (SessionEvent | { gone: string })[]): void {
    this.#duringFetch = null
    this.#page = page
    this.#error = null
    for (const change of missed) {
      if ('gone' in change) this.#remove(change.gone)
      else this.#applyEvent(change)
    }
    this.changed()
  }

  #remove(sessionId: string): void {
    if (this.#page) this.#replace(this.without(this.#page.items, sessionId))
  }

  #applyEvent(event: SessionEvent): void {
    if (!this.#page) return
    const items = this.apply(this.#page, event)
    if (items === null) this.refresh()
    else this.#replace(items)
  }

  #replace(items: T[]): void {
    if (!this.#page || items === this.#page.items) return
    this.#page = { ...this.#page, items }
    this.changed()
  }
}
