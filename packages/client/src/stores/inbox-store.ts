import {
  closeInteraction,
  openInteraction,
  progressInteraction,
  respondToInteraction,
  type Clock,
  type Interaction,
  type Json,
  type SessionEvent,
} from '@askback/protocol'
import type { InboxPage, Transport } from '../transport/transport.js'
import { ListStore, type ListPage, type ListStoreOptions, type ListView } from './list-store.js'
import type { Outbox, Submission, SubmissionResult } from './outbox.js'
import type { ServerClock } from './server-clock.js'

/** What is pending in all sessions, as far as it is loaded. */
export interface InboxView extends ListView<Interaction> {
  /** The answers that are being sent, by interaction. */
  readonly submissions: ReadonlyMap<string, Submission>
  /** Settled within the last five seconds, here or elsewhere: still shown, but no longer counted. */
  readonly leaving: readonly Interaction[]
  /** How many are pending, including those that are not loaded. */
  readonly total: number
  /** The number of pending requests by session. Sessions without any are left out. */
  readonly perSession: ReadonlyMap<string, number>
  /** Opened since the list was fetched, and not loaded because they belong to a later page. */
  readonly unlisted: readonly NewRequest[]
}

/** What a notification shows of a new request. */
export type NewRequest = Pick<Interaction, 'interactionId' | 'sessionId' | 'kind' | 'toolName'>

type InboxCounts = Pick<InboxView, 'total' | 'perSession'>

interface InboxStoreOptions extends ListStoreOptions {
  transport: Transport
  outbox: Outbox
  serverClock: ServerClock
}

/** How long a settled interaction is still shown: long enough to read who answered, and what. */
const LEAVE_MS = 5000
/** The counts are requested at most this often. */
const COUNT_INTERVAL_MS = 500
/** With fewer items than this, the next page is loaded. */
const MIN_ITEMS = 20

/**
 * Everything that is pending in all sessions, oldest first. Once all pages are loaded, the items themselves are counted. Before
 * that only the gateway can count: adding or subtracting one for each event would be wrong for events that the gateway had
 * counted already.
 */
export class InboxStore extends ListStore<Interaction, InboxView> {
  readonly #transport: Transport
  readonly #outbox: Outbox
  readonly #serverClock: ServerClock
  readonly #clock: Clock
  readonly #leaving = new Map<string, { item: Interaction; cancelTimer: () => void }>()
  readonly #unlisted = new Map<string, NewRequest>()
  /** Ids whose `interaction_pending: true` has come, and whose request comes next (L1). */
  readonly #announced = new Set<string>()
  #counts: InboxCounts = { total: 0, perSession: new Map() }
  #cancelCount: (() => void) | null = null
  #stopListening: () => void = () => undefined

  constructor(options: InboxStoreOptions) {
    super(options)
    this.#serverClock = options.serverClock
    this.#clock = options.clock
    this.#transport = options.transport
    this.#outbox = options.outbox
  }

  /** Server time, in epoch milliseconds: deadlines are in server time. */
  serverNow(): number {
    return this.#serverClock.now()
  }

  /** Answers an interaction; the same as `respond` of its session's store. */
  respond({ sessionId, interactionId, digest }: Interaction, answer: Json): Promise<SubmissionResult> {
    return this.#outbox.submit({ sessionId, interactionId, answer, digest })
  }

  protected override view(): InboxView {
    const leaving = [...this.#leaving.values()].map(({ item }) => item)
    const list = this.list()
    const items = list.items ?? []
    const listed = new Set(items.map(({ interactionId }) => interactionId))
    const unlisted = [...this.#unlisted.values()].filter(({ interactionId }) => !listed.has(interactionId))
    const counts = list.more ? this.#counts : { total: items.length, perSession: countBySession(items) }
    return { ...list, ...counts, submissions: this.#outbox.all, leaving, unlisted }
  }

  protected override start(): void {
    super.start()
    this.#stopListening = this.#outbox.on(({ events }) => {
      for (const event of events) this.receive(event)
      this.changed()
    })
  }

  protected override stop(): void {
    this.#stopListening()
    for (const { cancelTimer } of this.#leaving.values()) cancelTimer()
    this.#leaving.clear()
    this.#cancelCount?.()
    this.#cancelCount = null
    super.stop()
  }

  protected override async fetch(query: { after?: string; limit: number }): Promise<ListPage<Interaction>> {
    const { interactions: items, next, ...counts } = await this.#transport.inbox(query)
    this.#setCounts(counts)
    // The list was fetched from its beginning, so everything that is not on the page is on a later one.
    if (query.after === undefined) this.#unlisted.clear()
    const withDeadline = items.find(({ expiresAt }) => expiresAt !== undefined)
    // Only a snapshot has the server time, and a countdown by a wrong clock is worse than none.
    if (withDeadline && !this.#serverClock.isKnown) {
      const snapshot = () => this.#transport.snapshot(withDeadline.sessionId)
      // The list is worth showing without it.
      await this.#serverClock.setBy(snapshot).catch(() => undefined)
    }
    return { items, next }
  }

  protected override receive(event: SessionEvent): void {
    this.#serverClock.observe(event.at)
    super.receive(event)
    const { items, more } = this.list()
    if (!more || event.type !== 'interaction_pending') return
    this.#countSoon()
    if (items && items.length < MIN_ITEMS) void this.loadMore().catch(() => undefined)
  }

  protected override apply({ items, next }: ListPage<Interaction>, event: SessionEvent): Interaction[] {
    const index =
      'interactionId' in event ? items.findIndex((item) => item.interactionId === event.interactionId) : -1
    switch (event.type) {
      case 'interaction_pending':
        if (!event.pending) return this.#close(items, event.interactionId)
        this.#announced.add(event.interactionId)
        return items
      case 'interaction_request':
        // The newest come last, so if there are more pages it belongs to the last of them.
        if (!this.#announced.delete(event.interactionId) || index >= 0) return items
        if (next === null) return [...items, openInteraction(event)]
        this.#unlisted.set(event.interactionId, newRequestOf(event))
        this.changed()
        return items
      case 'interaction_response':
        // Gateways from before L2 do not send `interaction_pending: false` for a superseded one.
        if (event.settlement === 'superseded') return this.#close(items, event.interactionId)
        return index < 0 ? items : items.with(index, respondToInteraction(items[index]!, event))
      case 'interaction_progress':
        return index < 0 ? items : items.with(index, progressInteraction(items[index]!, event))
      default:
        return items
    }
  }

  protected override without(items: Interaction[], sessionId: string): Interaction[] {
    for (const arrival of this.#unlisted.values())
      if (arrival.sessionId === sessionId) this.#unlisted.delete(arrival.interactionId)
    // Later pages may have held interactions of the session: fetch the counts again.
    if (this.list().more) this.#countSoon()
    const left = items.filter((item) => item.sessionId !== sessionId)
    return left.length === items.length ? items : left
  }

  /** Removes what is no longer pending (L2). A superseded one has no settlement here, and is not shown as leaving. */
  #close(items: Interaction[], interactionId: string): Interaction[] {
    this.#announced.delete(interactionId)
    if (this.#unlisted.delete(interactionId)) this.changed()
    const index = items.findIndex((item) => item.interactionId === interactionId)
    if (index < 0) return items
    const item = items[index]!
    if (item.settlement !== undefined) this.#showLeaving(closeInteraction(item))
    return items.toSpliced(index, 1)
  }

  #countSoon(): void {
    this.#cancelCount ??= this.#clock.alarm(this.#clock.now() + COUNT_INTERVAL_MS, () => {
      this.#cancelCount = null
      // If it fails, the next event or reconnect requests the counts again.
      this.#count().catch(() => undefined)
    })
  }

  async #count(): Promise<void> {
    this.#setCounts(await this.#transport.inbox({ limit: 1 }))
    const { items, more } = this.list()
    // Everything on the other pages was settled: the list is fetched again, and then has no more pages.
    if (more && items && this.#counts.total <= items.length) this.refresh()
    this.changed()
  }

  #setCounts({ total, perSession }: Pick<InboxPage, 'total' | 'perSession'>): void {
    this.#counts = { total, perSession: new Map(Object.entries(perSession)) }
  }

  #showLeaving(item: Interaction): void {
    const { interactionId } = item
    const cancelTimer = this.#clock.alarm(this.#clock.now() + LEAVE_MS, () => {
      this.#leaving.delete(interactionId)
      this.changed()
    })
    this.#leaving.set(interactionId, { item, cancelTimer })
  }
}

function newRequestOf({ interactionId, sessionId, kind, toolName }: NewRequest): NewRequest {
  return { interactionId, sessionId, kind, toolName }
}

/** How many of these belong to each session. */
export function countBySession(items: Iterable<{ sessionId: string }>): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { sessionId } of items) counts.set(sessionId, (counts.get(sessionId) ?? 0) + 1)
  return counts
}
