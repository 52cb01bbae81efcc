import type {
  AskbackError,
  Json,
  MessageBody,
  PermissionMode,
  SessionEvent,
  SessionState,
} from '@askback/protocol'
import { createLayout, isTyping } from '../layout/layout.js'
import type { Layout } from '../layout/layout-model.js'
import type { Pauses } from '../pauses.js'
import type { Routed, Transport } from '../transport/transport.js'
import { ExternalStore, type StoreOptions } from './external-store.js'
import type { Outbox, Outcome, Submission } from './outbox.js'
import type { ServerClock } from './server-clock.js'
import { SessionFeed, type ConnectionStatus } from './session-feed.js'

export interface SessionView {
  readonly sessionId: string
  readonly connection: ConnectionStatus
  /** Why there is nothing to show, or nothing more: `not_found`, `forbidden`, `unauthorized`. */
  readonly error: AskbackError | null
  /** `null` until the first snapshot is there. */
  readonly state: SessionState | null
  readonly layout: Layout | null
  /** Never while a person is waited for, nor while it is not known what the agent does. */
  readonly typing: boolean
  /** Answers on their way, by interaction. */
  readonly submissions: ReadonlyMap<string, Submission>
  readonly older: 'none' | 'available' | 'loading'
}

export interface SessionStoreOptions extends StoreOptions {
  transport: Transport
  outbox: Outbox
  pauses: Pauses
  serverClock: ServerClock
}

const OLDER_TURNS = 10

/** One session, kept up to date while somebody looks at it. */
export class SessionStore extends ExternalStore<SessionView> {
  readonly sessionId: string
  readonly #transport: Transport
  readonly #outbox: Outbox
  readonly #feed: SessionFeed
  readonly #serverClock: ServerClock
  readonly #draw = createLayout()
  #isLoadingOlder = false
  #stopListening: () => void = () => undefined

  constructor(sessionId: string, options: SessionStoreOptions) {
    super(options)
    const { transport, outbox, pauses, clock, serverClock } = options
    this.sessionId = sessionId
    this.#transport = transport
    this.#outbox = outbox
    this.#serverClock = serverClock
    this.#feed = new SessionFeed(sessionId, {
      transport,
      pauses,
      clock,
      serverClock,
      changed: (when) => this.changed(when),
      connected: () => outbox.nudge(),
    })
  }

  /** The server's clock: deadlines are told in its time. */
  serverNow(): number {
    return this.#serverClock.now()
  }

  /** Bound to the request as it is shown. Where the gateway cannot be reached it is kept, and sent later. */
  respond(interactionId: string, answer: Json): Promise<Outcome> {
    const { sessionId } = this
    const digest = this.#feed.fold.state?.interactions.get(interactionId)?.digest
    return this.#outbox.submit({ sessionId, interactionId, answer, ...(digest !== undefined && { digest }) })
  }

  async cancel(interactionId: string): Promise<void> {
    await this.#transport.cancel(this.sessionId, interactionId)
  }

  send(message: string | MessageBody): Promise<Routed> {
    return this.#transport.send(this.sessionId, message)
  }

  interrupt(): Promise<void> {
    return this.#transport.interrupt(this.sessionId)
  }

  clear(): Promise<void> {
    return this.#transport.clear(this.sessionId)
  }

  setPermissionMode(mode: PermissionMode): Promise<void> {
    return this.#transport.setPermissionMode(this.sessionId, mode)
  }

  /** After a new login, or to look again for what was not there. */
  reconnect(): void {
    this.#feed.reconnect()
  }

  /** Some turns more of the past. */
  async loadOlder(): Promise<void> {
    const { fold } = this.#feed
    const shown = fold.state?.turns.length ?? 0
    const isEnough = () => !fold.state?.trimmed || fold.state.turns.length >= shown + OLDER_TURNS
    if (this.#isLoadingOlder || isEnough()) return
    this.#isLoadingOlder = true
    this.changed()
    try {
      while (!isEnough() && (await this.#feed.loadOlderPage()));
    } finally {
      this.#isLoadingOlder = false
      this.changed()
    }
  }

  #isKnown(event: SessionEvent): boolean {
    return (
      event.type === 'interaction_response' &&
      (this.#feed.fold.state?.interactions.has(event.interactionId) ?? false)
    )
  }

  protected override view(): SessionView {
    const { sessionId } = this
    const { connection, error, fold } = this.#feed
    const { state, live } = fold
    const blocks = live.list
    const draw = this.#draw
    let layout: Layout | undefined
    return {
      sessionId,
      connection,
      error,
      state,
      // Not before somebody looks: a burst of events is laid out once.
      get layout() {
        return state && (layout ??= draw(state, blocks))
      },
      typing: connection === 'live' && state !== null && isTyping(state),
      submissions: this.#outbox.of(sessionId),
      older: this.#isLoadingOlder ? 'loading' : state?.trimmed ? 'available' : 'none',
    }
  }

  protected override start(): void {
    this.#stopListening = this.#outbox.on(({ sessionId, events }) => {
      if (sessionId !== this.sessionId) return
      // The reply may be about a log that is gone: one about a request that is not known here waits for the stream.
      if (events.some((event) => this.#isKnown(event))) this.#feed.offer(events)
      this.changed()
    })
    this.#feed.start()
  }

  protected override stop(): void {
    this.#stopListening()
    this.#feed.stop()
  }
}
