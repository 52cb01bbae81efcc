import {
  openInteraction,
  progressInteraction,
  settleInteraction,
  type Interaction,
  type Json,
  type SessionEvent,
} from '@askback/protocol'
import type { Clock } from '../clock.js'
import type { Transport } from '../transport/transport.js'
import { ListStore, type ListStoreOptions, type ListView, type Page } from './list-store.js'
import type { Outbox, Outcome, Submission } from './outbox.js'
import type { ServerClock } from './server-clock.js'

export interface InboxView extends ListView<Interaction> {
  /** Answers on their way, by interaction. */
  readonly submissions: ReadonlyMap<string, Submission>
  /** Settled a moment ago, here or elsewhere: still there to be seen, and no longer counted. */
  readonly leaving: readonly Interaction[]
}

interface InboxStoreOptions extends ListStoreOptions {
  transport: Transport
  outbox: Outbox
  serverClock: ServerClock
}

/** Long enough to read who answered, and what. */
const LEAVE_MS = 5000

/** Everything that waits for a person, in all sessions, oldest first. */
export class InboxStore extends ListStore<Interaction, InboxView> {
  readonly #transport: Transport
  readonly #outbox: Outbox
  readonly #serverClock: ServerClock
  readonly #clock: Clock
  readonly #leaving = new Map<string, { item: Interaction; disarm: () => void }>()
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
    return { ...this.list(), submissions: this.#outbox.all, leaving }
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
    super.stop()
  }

  protected override async fetch(query: { after?: string; limit: number }): Promise<Page<Interaction>> {
    const { interactions: items, next } = await this.#transport.inbox(query)
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
  }

  protected override apply({ items, next }: Page<Interaction>, event: SessionEvent): Interaction[] {
    const index =
      'interactionId' in event ? items.findIndex((item) => item.interactionId === event.interactionId) : -1
    switch (event.type) {
      case 'interaction_request':
        // The newest come last: where there are more pages, it is on the last of them.
        return index >= 0 || next !== null ? items : [...items, openInteraction(event)]
      case 'interaction_response':
        if (index < 0) return items
        if (event.settlement !== 'superseded') this.#letLeave(settleInteraction(items[index]!, event))
        return items.toSpliced(index, 1)
      case 'interaction_progress':
        return index < 0 ? items : items.with(index, progressInteraction(items[index]!, event))
      default:
        return items
    }
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
