import type {
  AskbackError,
  Backoff,
  Json,
  MessageBody,
  PermissionMode,
  SessionEvent,
  SessionState,
} from '@askback/protocol'
import { createLayout, isTyping } from '../layout/layout.js'
import type { Layout } from '../layout/layout-model.js'
import type { MessageRoute, Transport } from '../transport/transport.js'
import { ExternalStore, type StoreOptions } from './external-store.js'
import type { Outbox, Submission, SubmissionResult } from './outbox.js'
import type { ServerClock } from './server-clock.js'
import { SessionFeed, type ConnectionStatus } from './session-feed.js'

/** A session as a page shows it. */
export interface SessionView {
  readonly sessionId: string
  readonly connection: ConnectionStatus
  /** Why the session cannot be shown, or is not updated any more: `not_found`, `forbidden`, `unauthorized`. */
  readonly error: AskbackError | null
  /** `null` until the first snapshot has come. */
  readonly state: SessionState | null
  readonly layout: Layout | null
  /** Whether the agent works. False while a person is asked, and while there is no connection to know it from. */
  readonly typing: boolean
  /** The answers that are being sent, by interaction. */
  readonly submissions: ReadonlyMap<string, Submission>
  /** Whether there are older turns to load. */
  readonly older: 'none' | 'available' | 'loading'
}

export interface SessionStoreOptions extends StoreOptions {
  transport: Transport
  outbox: Outbox
  backoff: Backoff
  serverClock: ServerClock
}

/** How many turns `loadOlder` adds at least. */
const OLDER_TURNS = 10

/**
 * The store of one session: its state, its layout and the calls that a surface makes. It is up to date while it has listeners.
 *
 * @example
 * const store = client.session(sessionId)
 * store.subscribe(() => render(store.getSnapshot().layout))
 */
export class SessionStore extends ExternalStore<SessionView> {
  readonly sessionId: string
  readonly #transport: Transport
  readonly #outbox: Outbox
  readonly #feed: SessionFeed
  readonly #serverClock: ServerClock
  readonly #layOut = createLayout()
  #isLoadingOlder = false
  #stopListening: () => void = () => undefined

  constructor(sessionId: string, options: SessionStoreOptions) {
    super(options)
    const { transport, outbox, backoff, clock, serverClock } = options
    this.sessionId = sessionId
    this.#transport = transport
    this.#outbox = outbox
    this.#serverClock = serverClock
    this.#feed = new SessionFeed(sessionId, {
      transport,
      backoff,
      clock,
      serverClock,
      onChanged: (when) => this.changed(when),
      onConnected: () => outbox.retryNow(),
    })
  }

  /** Server time, in epoch milliseconds: deadlines are in server time. */
  serverNow(): number {
    return this.#serverClock.now()
  }

  /**
   * Answers an interaction, bound to the request as it is shown. If the gateway cannot be reached, the answer is queued and sent
   * later. Resolves when it is accepted or refused; it never rejects.
   *
   * @example
   * const result = await store.respond(interactionId, { decision: 'approve' })
   * if (!result.ok) console.log(result.error.message)
   */
  respond(interactionId: string, answer: Json): Promise<SubmissionResult> {
    const { sessionId } = this
    const digest = this.#feed.fold.state?.interactions.get(interactionId)?.digest
    return this.#outbox.submit({ sessionId, interactionId, answer, ...(digest !== undefined && { digest }) })
  }

  async cancel(interactionId: string): Promise<void> {
    await this.#transport.cancel(this.sessionId, interactionId)
  }

  /** Sends a text: it answers something pending, or goes to the agent. */
  send(message: string | MessageBody): Promise<MessageRoute> {
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

  /** Tries again at once if it is not connected: after a new login, or to look again for a session that was not found. */
  reconnect(): void {
    this.#feed.reconnect()
  }

  /** Loads at least ten older turns, if there are any. Rejects if the gateway cannot be reached. */
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

  /** Whether this is the response to an interaction of this state. */
  #isKnownResponse(event: SessionEvent): boolean {
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
    const layOut = this.#layOut
    let layout: Layout | undefined
    return {
      sessionId,
      connection,
      error,
      state,
      // Computed when it is read, so that a burst of events is laid out once.
      get layout() {
        return state && (layout ??= layOut(state, blocks))
      },
      typing: connection === 'live' && state !== null && isTyping(state),
      submissions: this.#outbox.of(sessionId),
      older: this.#isLoadingOlder ? 'loading' : state?.trimmed ? 'available' : 'none',
    }
  }

  protected override start(): void {
    this.#stopListening = this.#outbox.on(({ sessionId, events }) => {
      if (sessionId !== this.sessionId) return
      // The session may have been deleted and created again, and the reply be about the old log. Events about an interaction
      // that is not known here are left to the stream.
      if (events.some((event) => this.#isKnownResponse(event))) this.#feed.receive(events)
      this.changed()
    })
    this.#feed.start()
  }

  protected override stop(): void {
    this.#stopListening()
    this.#feed.stop()
  }
}
