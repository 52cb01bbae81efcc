import type { Session, SessionEvent } from '@askback/protocol'
import type { Transport } from '../transport/transport.js'
import { ListStore, type ListStoreOptions, type ListView, type Page } from './list-store.js'

export type SessionListView = ListView<Session>

/** All sessions, newest first. */
export class SessionListStore extends ListStore<Session> {
  readonly #transport: Transport

  constructor(options: ListStoreOptions & { transport: Transport }) {
    super(options)
    this.#transport = options.transport
  }

  protected override view(): SessionListView {
    return this.list()
  }

  protected override async fetch(query: { after?: string; limit: number }): Promise<Page<Session>> {
    const { sessions: items, next } = await this.#transport.sessions(query)
    return { items, next }
  }

  protected override apply({ items }: Page<Session>, event: SessionEvent): Session[] | null {
    const index = items.findIndex(({ id }) => id === event.sessionId)
    if (event.type === 'session_started') return index < 0 ? null : items
    if (event.type !== 'session_status') return items
    const { status, permissionMode } = event
    if (status === 'ended') return index < 0 ? items : items.toSpliced(index, 1)
    // One that is not in the list is new, or on a later page: the gateway knows.
    if (index < 0) return null
    const known = items[index]!
    const isSame = known.status === status && known.permissionMode === permissionMode
    return isSame ? items : items.with(index, { ...known, status, permissionMode })
  }
}
