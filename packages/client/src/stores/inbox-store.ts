import {
  closeInteraction,
  openInteraction,
  progressInteraction,
  respondToInteraction,
  type Interaction,
  type Json,
  type SessionEvent,
} from '@askback/protocol'
import type { Clock } from '../clock.js'
import { countBySession } from '../count-by-session.js'
import type { InboxPage, Transport } from '../transport/transport.js'
import { ListStore, type ListStoreOptions, type ListView, type Page } from './list-store.js'
import type { Outbox, Outcome, Submission } from './outbox.js'
import type { ServerClock } from './server-clock.js'

export interface InboxView extends ListView<Interaction> {
  /** Answers on their way, by interaction. */
  readonly submissions: ReadonlyMap<string, Submission>
  /** Settled a moment ago, here or elsewhere: still there to be seen, and no longer counted. */
  readonly leaving: readonly Interaction[]
  /** How many are pending, those that are not loaded included. */
  readonly total: number
  /** The same for each session in which something waits. */
  readonly perSession: ReadonlyMap<string, number>
  /** Arrived while this was open, and not loaded because they are on a later page. */
  readonly unlisted: readonly Arrival[]
}

/** What a notification needs to know of a request. */
export type Arrival = Pick<Interaction, 'interactionId' | 'sessionId' | 'kind' | 'toolName'>

type Counts = Pick<InboxView, 'total' | 'perSession'>

interface InboxStoreOptions extends ListStoreOptions {
  transport: Transport
  outbox: Outbox
  serverClock: ServerClock
}

/** Long enough to read who answered, and what. */
const LEAVE_MS = 5000

/** The counts are asked for anew at most this often. */
const COUNT_MS = 500
/** With fewer left of the pages that are loaded, the next one is. */
const LOW = 20

/**
 * Everything that waits for a person, in all sessions, oldest first. Once all pages are loaded the stream of changes keeps
 * the counts exact. Before that only the gateway can count: a change is no difference to add, since it may have happened
 * before the gateway counted.
 */
export class InboxStore extends ListStore<Interaction, InboxView> {
  readonly #transport: Transport
  readonly #outbox: Outbox
  readonly #serverClock: ServerClock
  readonly #clock: Clock
  readonly #leaving = new Map<string, { item: Interaction; disarm: () => void }>()
  readonly #unlisted = new Map<string, Arrival>()
  /** Pending by their event, while the request that follows it is still to come (L1). */
  readonly #announced = new Set<string>()
  #counts: Counts = { total: 0, perSession: new Map() }
  #disarmCount: (() => void) | null = null
  #stopListening: () => void = () => undefined

  constructor(options: InboxStoreOptions) {
    super(options)
    this.#serverClock = options.serverClock
    this.#clock = options.clock
    this.#transport = options.transport
    this.#outbox = options.outbox
  }

  /** The server's clock: deadlines are told in its time. */
  serverNow(): number {
    return this.#serverClock.now()
  }

  /** The same as in the session itself. */
  respond({ sessionId, interactionId, digest }: Interaction, answer: Json): Promise<Outcome> {
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
      for (const event of events) this.take(event)
      this.changed()
    })
  }

  protected override stop(): void {
    this.#stopListening()
    for (const { disarm } of this.#leaving.values()) disarm()
    this.#leaving.clear()
    this.#disarmCount?.()
    this.#disarmCount = null
    super.stop()
  }

  protected override async fetch(query: { after?: string; limit: number }): Promise<Page<Interaction>> {
    const { interactions: items, next, ...counts } = await this.#transport.inbox(query)
    this.#counted(counts)
    // A new first page replaces all that was loaded; what arrives from then on is told again.
    if (query.after === undefined) this.#unlisted.clear()
    const timed = items.find(({ expiresAt }) => expiresAt !== undefined)
    // Only a snapshot tells the time, and a countdown by a clock that is wrong is worse than none.
    if (timed && !this.#serverClock.isKnown) {
      await this.#serverClock.ask(() => this.#transport.snapshot(timed.sessionId)).catch(() => undefined)
    }
    return { items, next }
  }

  protected override take(event: SessionEvent): void {
    this.#serverClock.heard(event.at)
    super.take(event)
    const { items, more } = this.list()
    if (!more || event.type !== 'interaction_pending') return
    this.#countSoon()
    if (items && items.length < LOW) void this.loadMore().catch(() => undefined)
  }

  protected override apply({ items, next }: Page<Interaction>, event: SessionEvent): Interaction[] {
    const index =
      'interactionId' in event ? items.findIndex((item) => item.interactionId === event.interactionId) : -1
    switch (event.type) {
      case 'interaction_pending':
        if (!event.pending) return this.#close(items, event.interactionId)
        this.#announced.add(event.interactionId)
        return items
      case 'interaction_request':
        // The newest come last: where there are more pages, it is on the last of them.
        if (!this.#announced.delete(event.interactionId) || index >= 0) return items
        if (next === null) return [...items, openInteraction(event)]
        this.#unlisted.set(event.interactionId, arrivalOf(event))
        this.changed()
        return items
      case 'interaction_response':
        // A gateway from before L2 closes what is superseded by this alone.
        if (event.settlement === 'superseded') return this.#close(items, event.interactionId)
        return index < 0 ? items : items.with(index, respondToInteraction(items[index]!, event))
      case 'interaction_progress':
        return index < 0 ? items : items.with(index, progressInteraction(items[index]!, event))
      default:
        return items
    }
  }

  /** It is pending no longer (L2). What was asked anew leaves without a trace. */
  #close(items: Interaction[], interactionId: string): Interaction[] {
    this.#announced.delete(interactionId)
    if (this.#unlisted.delete(interactionId)) this.changed()
    const index = items.findIndex((item) => item.interactionId === interactionId)
    if (index < 0) return items
    const item = items[index]!
    if (item.settlement !== undefined) this.#letLeave(closeInteraction(item))
    return items.toSpliced(index, 1)
  }

  #countSoon(): void {
    this.#disarmCount ??= this.#clock.alarm(this.#clock.now() + COUNT_MS, () => {
      this.#disarmCount = null
      // What fails is asked for again with the next change, or when the gateway is back.
      this.#count().catch(() => undefined)
    })
  }

  async #count(): Promise<void> {
    this.#counted(await this.#transport.inbox({ limit: 1 }))
    const { items, more } = this.list()
    // What was on the other pages has been settled: nothing is left to load.
    if (more && items && this.#counts.total <= items.length) this.refresh()
    this.changed()
  }

  #counted({ total, perSession }: Pick<InboxPage, 'total' | 'perSession'>): void {
    this.#counts = { total, perSession: new Map(Object.entries(perSession)) }
  }

  #letLeave(item: Interaction): void {
    const { interactionId } = item
    const disarm = this.#clock.alarm(this.#clock.now() + LEAVE_MS, () => {
      this.#leaving.delete(interactionId)
      this.changed()
    })
    this.#leaving.set(interactionId, { item, disarm })
  }
}

function arrivalOf({ interactionId, sessionId, kind, toolName }: Arrival): Arrival {
  return { interactionId, sessionId, kind, toolName }
}
