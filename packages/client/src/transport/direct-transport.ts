import type {
  Actor,
  CreateSessionBody,
  Interaction,
  KindPromptResult,
  MessageBody,
  PermissionMode,
  Repeatable,
  Session,
  SessionEvent,
} from '@askback/protocol'
import { directChanges, directEvents } from './direct-events.js'
import type { DirectHost, DirectPerson } from './direct-host.js'
import {
  alreadyAnswered,
  cursorOf,
  messageOf,
  randomKey,
  type AgentInfo,
  type CallOptions,
  type ChangeItem,
  type Cursor,
  type HistoryQuery,
  type InboxPage,
  type MessageRoute,
  type PageQuery,
  type RespondInput,
  type SessionSnapshot,
  type SettleResult,
  type StreamItem,
  type Transport,
} from './transport.js'
import { throughWire, wireCopy, wireError } from './wire-copy.js'

/** The options of `DirectTransport`. */
export interface DirectTransportOptions {
  /** The person in whose name every call is made. */
  actor: Actor
  /**
   * Makes an idempotency key for a call that has none.
   *
   * @default 128 random bits, in hex
   */
  newKey?: () => string
}

const MAX_HISTORY = 1000

/**
 * Reaches a host in the same process. Everything that passes is copied, as JSON over a wire would be, so that neither side can
 * change what the other holds.
 *
 * @example
 * const host = createHost({ desk: createDesk({ store: memoryStore() }) })
 * const client = createClient(new DirectTransport(host, { actor: { id: 'ada', name: 'Ada' } }))
 */
export class DirectTransport implements Transport {
  readonly #host: DirectHost
  readonly #person: DirectPerson
  readonly #personId: string
  readonly #newKey: () => string
  readonly #streams = new Set<AbortController>()

  constructor(host: DirectHost, { actor, newKey = randomKey }: DirectTransportOptions) {
    this.#host = host
    this.#person = host.as({ by: actor, via: 'direct' })
    this.#personId = actor.id
    this.#newKey = newKey
  }

  agents(): Promise<AgentInfo[]> {
    return throughWire(() => this.#host.agents())
  }

  sessions(query: PageQuery = {}): Promise<{ sessions: Session[]; next: string | null }> {
    return throughWire(async () => {
      const { items: sessions, next } = await this.#host.desk.sessions(wireCopy(query))
      return { sessions, next }
    })
  }

  async create(body: CreateSessionBody = {}, options?: CallOptions): Promise<Session> {
    const keyed = this.#keyed('create', options)
    const { session } = await throughWire(() => this.#person.createSession({ ...wireCopy(body), ...keyed }))
    return session
  }

  snapshot(sessionId: string): Promise<SessionSnapshot> {
    return throughWire(() => this.#host.snapshot(sessionId))
  }

  events(
    sessionId: string,
    after: Cursor | number,
    signal?: AbortSignal,
  ): AsyncGenerator<StreamItem, undefined> {
    const cursor = { ...cursorOf(after) }
    return this.#stream((aborted) => directEvents(this.#host, sessionId, cursor, aborted), signal)
  }

  history(
    sessionId: string,
    query: HistoryQuery = {},
  ): Promise<{ events: SessionEvent[]; next: number | null }> {
    return throughWire(async () => {
      const { after = 0, before, limit = MAX_HISTORY } = query
      const range = before === undefined ? { after } : { after, before }
      const events = await this.#host.desk.events(sessionId, { ...range, limit: limit + 1 })
      const isWhole = events.length <= limit
      if (before === undefined) {
        const page = events.slice(0, limit)
        return { events: page, next: isWhole ? null : page.at(-1)!.seq }
      }
      const page = events.slice(-limit)
      return { events: page, next: isWhole ? null : page[0]!.seq }
    })
  }

  send(sessionId: string, message: string | MessageBody, options?: CallOptions): Promise<MessageRoute> {
    const keyed = this.#keyed('send', options)
    return throughWire(() => this.#person.message({ ...wireCopy(messageOf(message)), sessionId, ...keyed }))
  }

  async respond(input: RespondInput, options?: CallOptions): Promise<SettleResult> {
    const keyed = this.#keyed('respond', options)
    try {
      return await throughWire(() => this.#person.desk.respond({ ...input, ...keyed }))
    } catch (error) {
      const settled = alreadyAnswered(error, input.answer)
      if (settled) return settled
      throw error
    }
  }

  prompt(sessionId: string, interactionId: string): Promise<KindPromptResult> {
    return throughWire(() => this.#host.desk.prompt(sessionId, interactionId))
  }

  async cancel(sessionId: string, interactionId: string, options?: CallOptions): Promise<Interaction> {
    const keyed = this.#keyed('cancel', options)
    const input = { sessionId, interactionId, ...keyed }
    return (await throughWire(() => this.#person.desk.cancel(input))).interaction
  }

  async interrupt(sessionId: string, options?: CallOptions): Promise<void> {
    await throughWire(() => this.#person.interrupt(sessionId, this.#keyed('interrupt', options)))
  }

  async clear(sessionId: string, options?: CallOptions): Promise<void> {
    await throughWire(() => this.#person.clear(sessionId, this.#keyed('clear', options)))
  }

  async setPermissionMode(sessionId: string, mode: PermissionMode, options?: CallOptions): Promise<void> {
    const keyed = this.#keyed('set_mode', options)
    await throughWire(() => this.#person.setPermissionMode(sessionId, mode, keyed))
  }

  async remove(sessionId: string, options?: CallOptions): Promise<void> {
    await throughWire(() => this.#person.deleteSession(sessionId, this.#keyed('remove', options)))
  }

  inbox(query: PageQuery = {}): Promise<InboxPage> {
    return throughWire(() => this.#host.desk.inbox(wireCopy(query)))
  }

  changes(signal?: AbortSignal): AsyncGenerator<ChangeItem, undefined> {
    return this.#stream((aborted) => directChanges(this.#host.desk, aborted), signal)
  }

  retryNow(): void {
    // There is no network, so nothing ever waits.
  }

  close(): void {
    for (const stream of this.#streams) stream.abort()
  }

  async *#stream<T>(
    open: (signal: AbortSignal) => AsyncIterable<T>,
    given?: AbortSignal,
  ): AsyncGenerator<T, undefined> {
    const stream = new AbortController()
    const abort = () => stream.abort()
    if (given?.aborted) return
    given?.addEventListener('abort', abort)
    this.#streams.add(stream)
    try {
      for await (const item of open(stream.signal)) yield wireCopy(item)
    } catch (error) {
      throw wireError(error)
    } finally {
      given?.removeEventListener('abort', abort)
      this.#streams.delete(stream)
    }
  }

  /** The scope of a key is the call and the person, as over HTTP. */
  #keyed(call: string, { idempotencyKey = this.#newKey() }: CallOptions = {}): Repeatable {
    return { idempotencyKey: `direct/${call}/${this.#personId}/${idempotencyKey}` }
  }
}
