import {
  openInteraction,
  progressInteraction,
  type Interaction,
  type Json,
  type SessionEvent,
} from '@askback/protocol'
import { ListStore, type ListStoreOptions, type ListView, type Page } from './list-store.js'
import type { Outbox, Outcome, Submission } from './outbox.js'
import type { Transport } from './transport.js'

export interface InboxView extends ListView<Interaction> {
  /** Answers on their way, by interaction. */
  readonly submissions: ReadonlyMap<string, Submission>
}

/** Everything that waits for a person, in all sessions, oldest first. */
export class InboxStore extends ListStore<Interaction, InboxView> {
  readonly #transport: Transport
  readonly #outbox: Outbox
  #stopListening: () => void = () => undefined

  constructor(options: ListStoreOptions & { transport: Transport; outbox: Outbox }) {
    super(options)
    this.#transport = options.transport
    this.#outbox = options.outbox
  }

  /** The same as in the session itself. */
  respond({ sessionId, interactionId, digest }: Interaction, answer: Json): Promise<Outcome> {
    return this.#outbox.submit({ sessionId, interactionId, answer, digest })
  }

  protected override view(): InboxView {
    return { ...this.list(), submissions: this.#outbox.all }
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
    super.stop()
  }

  protected override async fetch(query: { after?: string; limit: number }): Promise<Page<Interaction>> {
    const { interactions: items, next } = await this.#transport.inbox(query)
    return { items, next }
  }

  protected override apply({ items, next }: Page<Interaction>, event: SessionEvent): Interaction[] {
    const index =
      'interactionId' in event ? items.findIndex((item) => item.interactionId === event.interactionId) : -1
    switch (event.type) {
      case 'interaction_request':
        // The newest come last: where there are more pages, it is on the last of them.
        return index >= 0 || next !== null ? items : [...items, openInteraction(event)]
      case 'interaction_response':
        return index < 0 ? items : items.toSpliced(index, 1)
      case 'interaction_progress':
        return index < 0 ? items : items.with(index, progressInteraction(items[index]!, event))
      default:
        return items
    }
  }
}
