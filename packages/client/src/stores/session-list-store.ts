import type { Session, SessionEvent } from '@askback/protocol'
import type { Transport } from '../transport/transport.js'
import { ListStore, type ListPage, type ListStoreOptions, type ListView } from './list-store.js'

/** The sessions, as far as they are loaded. */
export interface SessionListView extends ListView<Session> {
  /** Sessions beyond the loaded pages that were looked up, as they were at that time. */
  readonly others: ReadonlyMap<string, Session>
}

interface SessionListStoreOptions extends ListStoreOptions {
  transport: Transport
  sessionEnded?: ((sessionId: string) => void) | undefined
}

/** The list of all sessions, newest first. */
export class SessionListStore extends ListStore<Session, SessionListView> {
  readonly #transport: Transport
  readonly #sessionEnded: ((sessionId: string) => void) | undefined
  readonly #lookedUp = new Set<string>()
  #others: ReadonlyMap<string, Session> = new Map()

  constructor(options: SessionListStoreOptions) {
    super(options)
    this.#transport = options.transport
    this.#sessionEnded = options.sessionEnded
  }

  /**
   * Fetches sessions that are not in the list, for example old ones in which something is pending. Each is fetched once; one that
   * fails is fetched by the next call.
   */
  async lookUp(sessionIds: Iterable<string>): Promise<void> {
    const { items } = this.list()
    if (!items) return
    const listed = new Set(items.map(({ id }) => id))
    for (const id of sessionIds) {
      if (listed.has(id) || this.#lookedUp.has(id)) continue
      this.#lookedUp.add(id)
      try {
        const { session } = await this.#transport.snapshot(id)
        this.#others = new Map([...this.#others, [id, session]])
        this.changed()
      } catch {
        this.#lookedUp.delete(id)
      }
    }
  }

  protected override view(): SessionListView {
    return { ...this.list(), others: this.#others }
  }

  protected override async fetch(query: { after?: string; limit: number }): Promise<ListPage<Session>> {
    const { sessions: items, next } = await this.#transport.sessions(query)
    return { items, next }
  }

  protected override without(items: Session[], sessionId: string): Session[] {
    this.#sessionEnded?.(sessionId)
    return items.some(({ id }) => id === sessionId) ? items.filter(({ id }) => id !== sessionId) : items
  }

  protected override apply({ items }: ListPage<Session>, event: SessionEvent): Session[] | null {
    const index = items.findIndex(({ id }) => id === event.sessionId)
    if (event.type === 'session_started') return index < 0 ? null : items
    if (event.type !== 'session_status') return items
    const { status, permissionMode } = event
    if (status === 'ended') {
      this.#sessionEnded?.(event.sessionId)
      return index < 0 ? items : items.toSpliced(index, 1)
    }
    // A session that is not in the list is new or on a later page: only the gateway knows.
    if (index < 0) return null
    const known = items[index]!
    const isSame = known.status === status && known.permissionMode === permissionMode
    return isSame ? items : items.with(index, { ...known, status, permissionMode })
  }
}
